import type { Row } from './row.ts';

/** Programs of their own that show what becomes of several faults, and whether the tests would notice. */
export const programRows: readonly Row[] = [
  {
    id: 'memory',
    fault: 'a first fill within a limit of the kernel',
    injected: 'the built daemon in a control group of 512 MiB, and as control of 48',
    expected: 'all products, no kill; a kill in the control',
    harness: '48 MiB',
  },
  {
    id: 'systemd',
    fault: 'README’s installation, word for word',
    injected: 'a booted systemd over this machine’s files: status, reloads, a full disk, a loop that hangs, a stop',
    expected: 'every claim holds',
    harness: null,
  },
  {
    id: 'readers',
    fault: 'readers under load',
    injected: 'a million reads in PHP, Python and Node during resyncs and a migration',
    expected: 'no reader sees half an update, fails twice or waits',
    harness: null,
    controls: ['storefronts/readers-under-load | notice that they are kept waiting'],
  },
  {
    id: 'followed',
    fault: 'readers of a followed copy',
    injected: 'a million reads of it, the daemon killed three times; a storm of notifications',
    expected: 'whole states only, soon',
    harness: 'a follower that commits row by row',
  },
  {
    id: 'mutations',
    fault: 'a careless change of one line of `domain`, `inbox`, `sync` or `mirror`',
    injected: '60 drawn by `--seed`, each in a scratch copy, against the tests nearest to it',
    expected: '85 % are noticed',
    harness: 'each test passes without the change',
  },
  {
    id: 'promises',
    fault: 'a line changed that keeps a promise',
    injected: 'five for each of the fourteen, against the tests that hold it',
    expected: '85 % are noticed',
    harness: 'each test passes without the change',
    tests: ['faults/mutations/promises | are all in their files, once'],
  },
];
