import type { Row } from './row.ts';

/** Faults of followers, of PostgreSQL and of several instances. */
export const copyRows: readonly Row[] = [
  {
    id: 'S1',
    fault: 'a copy that shows something else',
    injected: 'a day of changes and a restart; file, followed file and PostgreSQL compared row by row',
    expected: 'no row differs',
    tests: [
      'follow/follow | a copy shows what the mirror shows, cell by cell',
      'database/publication | has views that show what those of the file show',
      'copies | equals the views, cell by cell, at the end of every pass',
    ],
    controls: ['copies | differs once it passes over one kind of change'],
    command: 'test:copies',
  },
  {
    id: 'S2',
    fault: 'kill -9 of the leader',
    injected: 'two processes and PostgreSQL, senders all the time',
    expected: 'the other calls within ten seconds, nothing acknowledged is lost',
    tests: [
      'instances/takeover | lose nothing when the leader is killed',
      'instances/told | goes on under the same feed and numbers when another one takes over',
    ],
    controls: [
      'instances/told | would be taken back, and the next change missed',
      'database/lease | control: an advisory lock stays with a holder that stands still',
    ],
  },
  {
    id: 'S3',
    fault: 'a leader that stands still and goes on',
    injected: 'SIGSTOP, SIGCONT; also in the middle of publishing',
    expected: 'it calls no more and follows',
    tests: [
      'instances/takeover | let a leader that was stopped call no more',
      'database/lease | goes to another although its holder stands still in the middle of publishing',
    ],
    controls: ['database/lease | control: an advisory lock stays with a holder that stands still'],
  },
  {
    id: 'S4',
    fault: 'a leader that reaches the service and not PostgreSQL',
    injected: 'a host of its own whose packets to PostgreSQL are dropped',
    expected: 'silent within three seconds, another calls; what it is sent is answered 503',
    tests: [
      'instances/partition | is silent within three seconds while the service still answers it',
      'database/lease | is trusted no more while the database is away',
    ],
    controls: ['database/lease | control: an advisory lock stays with a holder that stands still'],
  },
  {
    id: 'S5',
    fault: 'PostgreSQL restarts',
    injected: 'killed and started under senders',
    expected: '503, then 200; nothing lost, no second leader',
    tests: [
      'instances/takeover | answer 503 while the database is away',
      'database/states | are published by themselves after PostgreSQL was away',
    ],
  },
  {
    id: 'S6',
    fault: 'PostgreSQL fails over, also to a standby that lacks the tail',
    injected: 'two clusters, one is killed and the other promoted: synchronous, and without the last commits',
    expected:
      'nothing is lost, or it is said; the old leader is refused, all is published anew, what comes next is applied',
    tests: [
      'instances/failover | to a synchronous standby has all that was acknowledged',
      'instances/failover | to a replica that lacks the last commits says so',
      'database/deliveries | come under numbers which a failover has forgotten are copied all the same',
      'database/lease | is lost to a restored database that knows a lower number',
    ],
  },
  {
    id: 'S7',
    fault: 'two instances, one ceiling',
    injected: 'a takeover',
    expected: 'never above the ceiling in any second',
    tests: [
      'instances/takeover | lose nothing when the leader is killed',
      'upstream/limiter | count in the second in which their calls are sent',
      'upstream/limiter | waits as long as a call takes before the first one',
    ],
  },
  {
    id: 'S8',
    fault: 'half a window',
    injected: 'readers in a loop while states are published',
    expected: 'whole states only',
    tests: [
      'database/states | are whole for readers of PostgreSQL',
      'follow/follow | a state that comes in pages is seen whole or not at all',
    ],
    controls: ['database/states | are seen by halves where each statement is committed by itself'],
  },
  {
    id: 'S9',
    fault: 'a follower that falls behind',
    injected: 'a copy that missed what is forgotten; a daemon that is away; a proxy’s own answers',
    expected: 'whole again under the eyes of its readers',
    tests: [
      'follow/follow | a copy that missed what is forgotten takes a new one in',
      'follow/follow | while the daemon is away the copy stays',
      'follow/command | in the place of the daemon, with 200, is asked again',
    ],
    by: 'followed',
  },
  {
    id: 'S10',
    fault: 'an old leader returns with rows that it had not published',
    injected: 'a stopped leader that had written',
    expected: 'file and PostgreSQL equal',
    tests: [
      'instances/told | is the same everywhere at the end of any drawn course',
      'instances/told | is what the last leader goes on with after a restart',
      'instances/takeover | let a leader that was stopped call no more',
    ],
  },
  {
    id: 'S11',
    fault: 'a publication that is broken off',
    injected: 'the backend killed at each statement',
    expected: 'the state before or the whole new one',
    tests: ['database/publication | is, after a failure at any statement, what it was before'],
  },
  {
    id: 'S12',
    fault: 'what all this costs who uses none of it',
    injected: 'a daemon without a database',
    expected: 'nothing of the driver is loaded, no row is noted',
    tests: [
      'database/not-loaded | nothing of the driver is loaded',
      'follow/follow | without the key there is no trigger',
    ],
    open: 'rounds of the benchmark before and after',
  },
];
