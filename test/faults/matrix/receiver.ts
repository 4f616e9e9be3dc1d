import type { Row } from './row.ts';

/** Faults of senders: W of reliability.md's section 7. */
export const receiverRows: readonly Row[] = [
  {
    id: 'W1',
    fault: 'bodies of any kind',
    injected: '20,000: bytes, near-JSON, deep, huge numbers, duplicate keys, `__proto__`, lone surrogates, NUL',
    expected: '200 and stored as they came; only known ids become due; no prototype is touched',
    tests: [
      'inbox/storing | are answered 200 and stored as they came, and touch no prototype',
      'domain/notification | of whatever bytes, a delivery is decoded without a throw',
    ],
  },
  {
    id: 'W2',
    fault: '200,000 levels, a megabyte, 10,000 products',
    injected: 'a corpus',
    expected: 'applied or kept aside, the loop yielded between two',
    tests: ['domain/notification | nested 200,000 levels deep', 'inbox/deliveries | wait in the order of arrival'],
    open: 'how long the loop stands in the largest',
  },
  {
    id: 'W3',
    fault: 'oversize, endless chunks, a wrong length, gzip',
    injected: 'raw sockets',
    expected: 'cut at the limit, stored as truncated, nothing inflated',
    tests: [
      'inbox/receiver | is cut: its beginning is stored',
      'inbox/receiver | compressed stays compressed',
      'inbox/receiver | or shorter than it said is not stored',
    ],
    open: 'the memory that each takes',
  },
  {
    id: 'W4',
    fault: 'slow headers and bodies',
    injected: 'hundreds of raw sockets, limits scaled down',
    expected: 'closed by 408; an honest delivery is answered before they are',
    tests: [
      'inbox/hardness | are closed by 408, in their headers or in their body',
      'inbox/hardness | crowd out only each other',
    ],
  },
  {
    id: 'W5',
    fault: 'smuggling',
    injected: 'both lengths, bare LF, bad chunks, two Hosts, a header of 20 kB',
    expected: 'Node’s 400 or 431 and the end of the connection, nothing stored',
    tests: ['inbox/hardness | own 400 or 431 and the end of its connection'],
  },
  {
    id: 'W6',
    fault: 'a forged X-Forwarded-For',
    injected: 'fifteen ways',
    expected: 'refused unless real',
    tests: ['inbox/allowlist | is not forged: fifteen ways that are tried'],
  },
  {
    id: 'W7',
    fault: 'a wrong path, address, method, token',
    injected: 'answers compared byte by byte',
    expected: 'one and the same 404',
    tests: ['inbox/receiver | is one and the same 404, whatever is wrong'],
    command: 'bench -- refusals',
  },
  {
    id: 'W8',
    fault: 'duplicates and disorder',
    injected:
      'the same news many times, a closure and a reopening in one delivery; drawn worlds with slow, doubled and lost deliveries',
    expected: 'the same state, at most one read a product and minute',
    tests: [
      'sync/apply | come a hundred times in five minutes, and the product is read once a minute',
      'sync/apply | is superseded by a later one that waits beside it',
      'sync/apply | leaves it off sale until one read tells',
      'seeds/seeds | a daemon that lives through the plan of seed',
    ],
  },
  {
    id: 'W9',
    fault: 'a forged flood with a valid secret',
    injected: '5,000 posts over known and unknown ids; a mass of closures',
    expected: 'at most a tenth off sale unconfirmed; three tenths of the calls; nobody else late',
    tests: [
      'sync/notified | of 5,000 posts changes nothing but the sale status of five products',
      'sync/apply | costs at most three tenths of the calls',
      'sync/apply | beyond a tenth of the products waits for its reads',
    ],
  },
  {
    id: 'W10',
    fault: 'forged content',
    injected: 'closures, prices, alternatives, texts that are not true',
    expected: 'a closed product is off sale, marked, and undone by two reads; no other cell changes',
    tests: [
      'sync/apply | that is not true is undone by two reads a minute apart',
      'sync/notified | of 5,000 posts changes nothing but',
    ],
  },
  {
    id: 'W11',
    fault: 'a delivery during a fetch',
    injected: 'the service changes after the request was sent, then says so; drawn moments',
    expected: 'read again',
    tests: [
      'sync/apply | has the whole product read, and what came during a fetch is read again',
      'sync/apply | that came while the clock was wrong does not hide one that comes during the next fetch',
      'seeds/seeds | a daemon that lives through the plan of seed',
    ],
  },
  {
    id: 'W12',
    fault: 'a rotation of the callback address, killed',
    injected: 'posts on the old and the new address, a kill between any two steps, also of a real daemon',
    expected: 'nobody is refused within the grace, the old address afterwards',
    tests: [
      'sync/subscription-rotation | is finished after a kill between any two steps',
      'faults/rotation | a rotation that is killed',
    ],
    controls: ['sync/subscription-rotation | where it drops the old address before the service has the new one'],
  },
  {
    id: 'W13',
    fault: 'a commit that fails',
    injected: 'a full disk, a lock, a failed fsync',
    expected: '503, never 200',
    tests: [
      'inbox/storing | is a 503, never a 200 without a row',
      'inbox/storing | is waited for without blocking the loop',
      'group-commit | fails for all of a group, and only for them',
    ],
  },
  {
    id: 'W14',
    fault: 'secrets that leak',
    injected:
      'marked secrets in configuration, errors, output, both files, `/metrics`; in .ci/run the output of the whole suite',
    expected: 'nowhere',
    tests: [
      'commands/secrets | prints and stores no secret and no address',
      'log | a line has no secret in it, wherever it stood',
      'commands/bugreport | has no secret in it, wherever it was planted',
    ],
    controls: ['commands/bugreport | would have every one of them in it without the net below'],
  },
  {
    id: 'W15',
    fault: 'a burst',
    injected: '500 deliveries over 50 connections',
    expected: 'one commit for a group',
    tests: ['inbox/receiver | does not share its commit with later ones'],
    command: 'bench -- receiver',
  },
];
