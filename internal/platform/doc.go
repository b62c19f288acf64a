// Package platform puts the kinds together with the systems that they drive:
// it makes the drivers of each region, gives them to the kinds' steps, and
// runs a task service for each kind. Nothing else knows both sides.
package platform
