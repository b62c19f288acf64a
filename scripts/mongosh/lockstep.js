// lockstep.js shows Lockstep's documents in mongosh, says what each of them
// waits for, and changes what is wanted of them:
//
//   mongosh "mongodb://…/lockstep" --shell --file scripts/mongosh/lockstep.js
//   > load('scripts/mongosh/lockstep.js')    (in a shell that is open)
//   > ls.help()
//
// It needs nothing but the database, and works on the one that the shell is
// in. All that it ever writes is `state`, by ls.setState.
globalThis.ls = (() => {
  // The lifecycles, as in docs/lifecycles. lockstep_test.go compares them with
  // the definitions that the task services run.
  const minute = 60 * 1000;
  const toggle = (up, down) => ({
    states: ['Active', 'Inactive', 'Deleted'],
    rests: [['Active', 'Created'], ['Inactive', 'Deleted']],
    moves: [
      { from: ['Creating'], when: ['Active'], to: 'Created', steps: up, within: 5 * minute },
      { from: ['Creating', 'Created'], when: ['Inactive', 'Deleted'], to: 'Deleting' },
      { from: ['Deleting'], to: 'Deleted', steps: down, within: 5 * minute },
      { from: ['Deleted'], when: ['Active'], to: 'Creating' },
      { from: ['Deleted'], when: ['Deleted'], to: 'gone' },
    ],
  });
  const start = ['config map', 'instance', 'pods ready', 'runtime domain', 'stages', 'cron triggers'];
  const stop = ['cron triggers', 'stages', 'runtime domain', 'instance'];
  const lifecycles = {
    ApiGateway: {
      states: ['Running', 'Stopped', 'Restarting', 'Deleted'],
      rests: [['Running', 'Started'], ['Stopped', 'Stopped'], ['Stopped', 'Created']],
      moves: [
        { from: ['Creating', 'Created', 'Starting', 'Started', 'Stopping', 'Stopped'], when: ['Deleted'], to: 'Deleting' },
        {
          from: ['Creating'], to: 'Created', within: 5 * minute,
          steps: ['namespace', 'database', 'environments', 'config map', 'runtime domain', 'stages'],
        },
        { from: ['Created', 'Stopped'], when: ['Running', 'Restarting'], to: 'Starting' },
        { from: ['Started'], when: ['Restarting'], to: 'Starting', steps: ['new revision'] },
        { from: ['Starting'], when: ['Running', 'Restarting'], to: 'Started', steps: start, within: 10 * minute },
        { from: ['Starting', 'Started'], when: ['Stopped'], to: 'Stopping' },
        { from: ['Stopping'], to: 'Stopped', steps: stop, within: 5 * minute },
        {
          from: ['Deleting'], to: 'Deleted', within: 10 * minute,
          steps: ['cron triggers', 'cloud functions', 'client apps', 'stages', 'runtime domain', 'instance',
            'database', 'environments', 'config map', 'namespace', 'nothing left'],
        },
        { from: ['Deleted'], to: 'gone' },
      ],
    },
    RuntimeDomain: toggle(['plugin config', 'tls', 'routes'], ['routes', 'custom domain', 'tls', 'plugin config']),
    Database: null, // null: no task service; the gateway's own steps make and remove it
    Environment: null,
    ClientApp: toggle(['consumer'], ['consumer']),
    CloudFunction: {
      states: ['Active', 'Deleted'],
      rests: [['Active', 'Created']],
      moves: [
        { from: ['Creating'], when: ['Active'], to: 'Created' },
        { from: ['Creating', 'Created'], when: ['Deleted'], to: 'Deleting' },
        { from: ['Deleting'], to: 'Deleted' },
        { from: ['Deleted'], to: 'gone' },
      ],
    },
    Stage: toggle(['functions', 'routes'], ['routes', 'functions']),
    CronTrigger: toggle([], []),
  };
  const kinds = Object.keys(lifecycles);
  const states = (kind) => (lifecycles[kind] ? lifecycles[kind].states : ['Active', 'Inactive', 'Deleted']);

  // The lock timeout of `lockstep serve` (--lock-timeout); ls.lockTimeout = 60
  // where it is another. A replica counts as live for as long as its heartbeat
  // lasts.
  const api = { lockTimeout: 30, heartbeat: 8 };
  const never = new Date('9999-01-01').getTime(); // lockedAt of a document that failed for good

  // --- words and tables ---------------------------------------------------

  const text = (value) => (value === undefined || value === null ? '' : String(value));

  function table(header, rows) {
    const all = [header].concat(rows.map((row) => row.map(text)));
    const width = header.map((_, i) => Math.max(...all.map((row) => row[i].length)));
    for (const row of all) {
      print(row.map((cell, i) => cell.padEnd(width[i])).join('  ').trimEnd());
    }
  }

  function span(ms) {
    const s = Math.max(0, Math.round(ms / 1000));
    if (s < 60) return `${s}s`;
    if (s < 3600) return `${Math.floor(s / 60)}m${s % 60}s`;
    return s < 86400 ? `${Math.floor(s / 3600)}h${Math.floor((s % 3600) / 60)}m` : `${Math.floor(s / 86400)}d`;
  }

  const time = (date) => (date ? date.toISOString().replace('T', ' ').slice(0, 19) : '');

  // --- finding documents --------------------------------------------------

  // The database's own clock: no lock is judged by that of this machine.
  function now() {
    if (!db.getCollectionNames().includes('ApiGateway')) {
      throw new Error(`database ${db.getName()} has no collection ApiGateway: go to Lockstep's own ` +
        "(LOCKSTEP_DATABASE) first, for example with `use lockstep`");
    }
    return db.hello().localTime.getTime();
  }

  function checkKind(kind) {
    if (kinds.includes(kind)) return kind;
    const meant = kinds.find((k) => k.toLowerCase() === text(kind).toLowerCase());
    throw new Error(`${JSON.stringify(kind)} is not a kind${meant ? `: write '${meant}'` : ` (they are ${kinds.join(', ')})`}`);
  }

  function checkId(id) {
    if (typeof id !== 'string' || id === '') throw new Error("name a document by its id, such as 'vn8ofl' or 'vn8ofl-dev'");
    return id;
  }

  // one finds the document that (kind, id) or (id) names.
  function one(args) {
    if (args.length > 1) {
      const kind = checkKind(args[0]);
      const doc = db.getCollection(kind).findOne({ _id: checkId(args[1]) });
      if (!doc) throw new Error(`there is no ${kind} ${args[1]}`);
      return { kind, doc };
    }
    const id = checkId(args[0]);
    const found = [];
    for (const kind of kinds) {
      const doc = db.getCollection(kind).findOne({ _id: id });
      if (doc && kind === 'ApiGateway') return { kind, doc };
      if (doc) found.push({ kind, doc });
    }
    if (found.length === 1) return found[0];
    if (found.length === 0) throw new Error(`no document has the id ${id}: ls.gateways() lists the gateways`);
    throw new Error(`${found.length} documents have the id ${id}: name the kind, too, as in (` +
      `'${found[0].kind}', '${id}'); it is one of ${found.map((f) => f.kind).join(', ')}`);
  }

  // family is a gateway, if it is there, and all beneath it.
  function family(id) {
    checkId(id);
    const gateway = db.ApiGateway.findOne({ _id: id });
    const children = [];
    for (const kind of kinds.slice(1)) {
      const docs = db.getCollection(kind).find({ gatewayId: id }, { history: 0, code: 0 }).sort({ _id: 1 }).toArray();
      for (const doc of docs) children.push({ kind, doc });
    }
    if (!gateway && children.length === 0) {
      throw new Error(`there is no gateway ${id}, and nothing beneath it: ls.gateways() lists them`);
    }
    return { gateway, children };
  }

  // --- explaining -----------------------------------------------------------

  function move(kind, doc) {
    return lifecycles[kind].moves.find((m) => m.from.includes(doc.phase) && (m.when || lifecycles[kind].states).includes(doc.state));
  }

  const rests = (kind, doc) => lifecycles[kind].rests.some(([state, phase]) => doc.state === state && doc.phase === phase);

  const changed = (doc) => doc.state !== doc.observedState || Number(doc.generation) !== Number(doc.observedGeneration || 0);

  // An administrator's pause is a lock without an end.
  const isPaused = (doc) => text(doc.lockedBy).startsWith('paused by ') && doc.lockedAt.getTime() >= never;

  // condition says how it stands with a document, in a word and in words.
  function condition(kind, doc, at) {
    if (!lifecycles[kind]) {
      const there = doc.state === 'Active' && doc.phase === 'Created';
      return there ? ['settled', ''] : ['leaf', "has no task service: its gateway's steps make and remove it"];
    }
    const next = move(kind, doc);
    const due = doc.lockedAt.getTime() + api.lockTimeout * 1000;
    const step = doc.step ? ` (step "${doc.step}")` : '';
    if (isPaused(doc)) return ['paused', `${doc.lockedBy}, until it is resumed: lockstep resume`];
    if (doc.lockedBy && due > at) return ['locked', `${doc.lockedBy} has worked on it for ${span(at - doc.lockedAt)}${step}`];
    if (!next && !rests(kind, doc)) {
      return ['noHandler', `nothing handles state ${doc.state} in phase ${doc.phase}: set its state to one of ${states(kind).join(', ')}`];
    }
    const error = changed(doc) ? null : doc.lastError;
    const to = next ? `${doc.phase} -> ${next.to}` : 'to be put right';
    const when = doc.lockedAt.getTime() >= never ? 'never again by itself' : due > at ? `looked at again in ${span(due - at)}` : 'due now';
    let answer;
    if (error && error.terminal) answer = ['failed', `step "${error.step}" failed for good: ${error.message}; change state or settings`];
    else if (error) answer = ['backingOff', `${to}: step "${error.step}" failed (attempt ${doc.attempts}): ${error.message}; ${when}`];
    else if (doc.waitingFor) answer = ['waiting', `${to}: step "${doc.step}" has waited ${span(at - doc.waitingSince)} for: ${doc.waitingFor}; ${when}`];
    else if (!next) return ['settled', ''];
    else answer = ['moving', `${to}; ${when}`];
    const over = next && next.within && doc.phaseAt ? at - doc.phaseAt.getTime() - next.within : 0;
    if (over > 0 && answer[0] !== 'failed') answer = ['overdue', `${answer[1]}; phase ${doc.phase} should have been left ${span(over)} ago`];
    return answer;
  }

  // leftover says what about a child does not fit the phase in which its
  // gateway rests: nothing moves such a document, as both are settled.
  function leftover(gateway, { kind, doc }) {
    if (!gateway) return 'its gateway is gone: an orphan';
    if (!rests('ApiGateway', gateway)) return '';
    const served = ['RuntimeDomain', 'Stage', 'CronTrigger'].includes(kind);
    if (gateway.phase === 'Stopped' && served && (doc.state === 'Active' || (doc.state === 'Inactive' && doc.phase === 'Created'))) {
      return 'it is still there although its gateway is Stopped';
    }
    if (gateway.phase === 'Started' && kind === 'RuntimeDomain' && (doc.state !== 'Active' || doc.phase !== 'Created')) {
      return 'it is not there although its gateway is Started: it cannot be reached';
    }
    return '';
  }

  function advice({ kind, doc }, gateway) {
    if (!lifecycles[kind]) return `see that what it stands for is gone, then db.${kind}.deleteOne({_id: '${doc._id}'})`;
    const state = !gateway ? 'Deleted' : gateway.phase === 'Stopped' ? 'Inactive' : 'Active';
    return `ls.setState('${kind}', '${doc._id}', '${state}')`;
  }

  function say(kind, doc, at) {
    const [word, words] = condition(kind, doc, at);
    print(`${kind} ${doc._id}: state ${doc.state}, phase ${doc.phase}, ${word}${words ? `: ${words}` : ''}`);
    const next = lifecycles[kind] && move(kind, doc);
    if (next && next.steps && next.steps.length > 0) {
      print(`  steps: ${next.steps.map((s) => (s === (doc.step || next.steps[0]) ? `[${s}]` : s)).join(' > ')}`);
    }
  }

  function explainFamily(id, at) {
    const { gateway, children } = family(id);
    if (gateway) say('ApiGateway', gateway, at);
    else print(`Gateway ${id} is gone, but ${children.length} documents of it are left.`);
    let calm = 0;
    for (const child of children) {
      const problem = leftover(gateway, child);
      const settled = condition(child.kind, child.doc, at)[0] === 'settled';
      if (settled && !problem) {
        calm++;
        continue;
      }
      say(child.kind, child.doc, at);
      if (problem) print(`  ! ${problem}. Fix: ${advice(child, gateway)}`);
    }
    if (calm > 0) print(calm === 1 ? '1 document beneath it is settled.' : `${calm} documents beneath it are settled.`);
  }

  // --- what ls offers -------------------------------------------------------

  api.gateways = () => {
    const at = now();
    const docs = db.ApiGateway.find({}, { history: 0 }).sort({ _id: 1 }).toArray();
    table(['id', 'name', 'region', 'state', 'phase', 'since', 'condition'],
      docs.map((d) => [d._id, d.name, d.region, d.state, d.phase, d.phaseAt ? span(at - d.phaseAt) : '', condition('ApiGateway', d, at)[0]]));
  };

  api.tree = (id) => {
    const at = now();
    const { gateway, children } = family(id);
    const row = (indent, kind, doc) => [indent + kind, doc._id, doc.state, doc.phase, ...condition(kind, doc, at)];
    const rows = [gateway ? row('', 'ApiGateway', gateway) : ['ApiGateway', id, '', 'gone', '', '']];
    for (const { kind, doc } of children.filter((c) => c.kind !== 'ClientApp')) {
      rows.push(row('  ', kind, doc));
      if (kind !== 'Environment') continue;
      for (const app of children.filter((c) => c.kind === 'ClientApp' && c.doc._id.startsWith(`${doc._id}-`))) {
        rows.push(row('    ', 'ClientApp', app.doc));
      }
    }
    table(['document', 'id', 'state', 'phase', 'condition', 'waiting for'], rows);
  };

  api.explain = (...args) => {
    const at = now();
    if (args.length === 1 && !kinds.slice(1).some((k) => db.getCollection(k).findOne({ _id: args[0], gatewayId: { $ne: args[0] } }))) {
      explainFamily(args[0], at);
      return;
    }
    const { kind, doc } = one(args);
    say(kind, doc, at);
  };

  api.history = (...args) => {
    now();
    const { kind, doc } = one(args);
    print(`${kind} ${doc._id}: state ${doc.state}, phase ${doc.phase} since ${time(doc.phaseAt)}`);
    table(['at', 'from', 'to', 'step', 'took', 'by'], (doc.history || []).map((h) => [
      time(h.at), h.from, h.step ? '' : h.to, h.step, Number(h.took) < 1000 ? `${h.took}ms` : span(Number(h.took)), h.by]));
  };

  api.stuck = () => {
    const at = now();
    const gateways = new Set(db.ApiGateway.distinct('_id'));
    const rows = db.Pause.find().sort({ _id: 1 }).toArray().map((p) =>
      [p._id, '(all)', '', '', 'paused', `by ${p.by} for ${span(at - p.at)} (${p.reason}), until the kind is resumed: lockstep resume`]);
    for (const kind of kinds) {
      const resting = (lifecycles[kind] ? lifecycles[kind].rests : [['Active', 'Created']]).map(([state, phase]) => ({ state, phase }));
      const busy = db.getCollection(kind).find({ $or: [{ $nor: resting }, { attempts: { $gt: 0 } }] }, { history: 0, code: 0 }).toArray();
      for (const doc of busy) {
        const [word, words] = condition(kind, doc, at);
        const hopeless = ['failed', 'overdue', 'noHandler', 'paused'].includes(word) || (word === 'backingOff' && doc.attempts >= 3);
        if (hopeless) rows.push([kind, doc._id, doc.state, doc.phase, word, words]);
      }
      if (kind === 'ApiGateway') continue;
      const orphaned = db.getCollection(kind).distinct('gatewayId').filter((id) => !gateways.has(id));
      for (const doc of db.getCollection(kind).find({ gatewayId: { $in: orphaned } }, { history: 0, code: 0 }).toArray()) {
        rows.push([kind, doc._id, doc.state, doc.phase, 'orphan', `its gateway ${doc.gatewayId} is gone: ${advice({ kind, doc }, null)}`]);
      }
    }
    const stopped = db.ApiGateway.find({ state: 'Stopped', phase: 'Stopped' }, { history: 0 }).toArray();
    for (const gateway of stopped) {
      for (const child of family(gateway._id).children) {
        const problem = leftover(gateway, child);
        if (problem) rows.push([child.kind, child.doc._id, child.doc.state, child.doc.phase, 'leftover', `${problem}: ${advice(child, gateway)}`]);
      }
    }
    if (rows.length === 0) print('Nothing is stuck.');
    else table(['kind', 'id', 'state', 'phase', 'condition', 'why'], rows);
  };

  api.locks = () => {
    const at = now();
    const rows = [];
    for (const kind of kinds) {
      const docs = db.getCollection(kind).find({ lockedBy: { $exists: true, $ne: '' } }, { history: 0, code: 0 }).sort({ lockedAt: 1 }).toArray();
      for (const doc of docs) {
        const left = doc.lockedAt.getTime() + api.lockTimeout * 1000 - at;
        if (isPaused(doc)) rows.push([kind, doc._id, doc.lockedBy, doc.lockToken, '', 'until it is resumed', doc.step]);
        else rows.push([kind, doc._id, doc.lockedBy, doc.lockToken, span(at - doc.lockedAt), left > 0 ? `live for ${span(left)}` : 'expired: any replica may claim it', doc.step]);
      }
    }
    if (rows.length === 0) print('No document is locked.');
    else table(['kind', 'id', 'locked by', 'token', 'held for', 'lock', 'step'], rows);
  };

  api.shards = () => {
    const at = now();
    const replicas = db.Replica.find().sort({ _id: 1 }).toArray();
    const live = replicas.filter((r) => at - r.seenAt < api.heartbeat * 1000);
    table(['replica', 'since', 'heartbeat', 'counts as'], replicas.map((r) => [
      r._id, span(at - r.since), `${span(at - r.seenAt)} ago`, live.includes(r) ? 'live' : 'dead: it went without a word']));
    if (live.length === 0) print('No replica is live: nothing is worked on.');
    else if (live.length === 1) print(`Sharding is off: ${live[0]._id} is the only live replica, and all documents fall to it.`);
    else print(`Documents are divided among ${live.length} replicas: lockstep shards says how.`);
  };

  api.setState = (...args) => {
    now();
    if (args.length < 2 || args.length > 3) throw new Error("say what to set: ls.setState('vn8ofl', 'Stopped') or ls.setState('Stage', 'vn8ofl-dev', 'Inactive')");
    const state = args.pop();
    const { kind, doc } = one(args);
    if (!lifecycles[kind]) {
      throw new Error(`${kind} ${doc._id} has no task service: its gateway's steps make and remove it; set the state of gateway ${doc.gatewayId}`);
    }
    if (!states(kind).includes(state)) throw new Error(`${JSON.stringify(state)} is not a state of ${kind}: use one of ${states(kind).join(', ')}`);
    if (doc.state === state) {
      print(`${kind} ${doc._id} is ${state} already (phase ${doc.phase}).`);
      return;
    }
    const answer = db.getCollection(kind).updateOne({ _id: doc._id, state: { $ne: 'Deleted' } }, { $set: { state } });
    if (answer.matchedCount === 0) throw new Error(`${kind} ${doc._id} is being deleted, which cannot be undone`);
    print(`${kind} ${doc._id}: state ${doc.state} -> ${state}. ls.explain('${kind}', '${doc._id}') follows it.`);
    note(kind, doc, state);
  };

  // note warns of a gateway that will set the state of its child back.
  function note(kind, doc, state) {
    if (!['RuntimeDomain', 'Stage', 'CronTrigger'].includes(kind) || state !== 'Inactive' || doc.suspended) return;
    const gateway = db.ApiGateway.findOne({ _id: doc.gatewayId });
    if (gateway && gateway.state === 'Running') {
      print(`Gateway ${gateway._id} is Running, and sets it Active again within half a minute.` +
        (kind === 'RuntimeDomain' ? ' Stop the gateway instead.' : ` To keep it so: lockstep set ${kind === 'Stage' ? 'stage' : 'trigger'} … --state Inactive.`));
    }
  }

  api.help = () => {
    table(['call', 'what it does'], [
      ['ls.gateways()', 'all gateways'],
      ["ls.tree('vn8ofl')", 'a gateway and every document beneath it'],
      ["ls.explain('vn8ofl')", 'what a gateway and all beneath it wait for, and what contradicts its phase'],
      ["ls.explain('Stage', 'vn8ofl-dev')", 'the same of one document; the kind may be left out if the id is of one only'],
      ["ls.history('vn8ofl')", 'the transitions and checkpoints of a document'],
      ['ls.stuck()', 'everything that will not move on by itself: failed, overdue, unhandled, paused, orphaned, left over'],
      ['ls.locks()', 'which replica works on what'],
      ['ls.shards()', 'which replicas live, and whether documents are divided among them'],
      ["ls.setState('vn8ofl', 'Stopped')", 'change what is wanted; with a kind in front for other documents'],
      ['ls.lockTimeout = 60', `the service's --lock-timeout in seconds, if not ${api.lockTimeout}`],
    ]);
    print('');
    table(['kind', 'states'], kinds.map((k) => [k, lifecycles[k] ? states(k).join(', ') : "its gateway's steps make and remove it"]));
  };

  api.lifecycles = lifecycles;
  return api;
})();
