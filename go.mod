module github.com/lockstep-io/lockstep

go 1.26
