import { type Import, importGraph, packageOf } from './import-graph.ts';

/**
 * What a room promises, and the rooms whose files it may import. All may import `kernel`, their own room, and the rules of
 * each room, which are pure. A layer forbids more.
 */
interface Room {
  readonly promise: string;
  readonly imports: readonly string[];
}

const room = (promise: string, imports = ''): Room => ({ promise, imports: imports.split(' ').filter(Boolean) });

/** The rooms of src, from what a person types down to what imports nothing. */
export const rooms: Readonly<Record<string, Room>> = {
  commands: room(
    'one file a command: reads the arguments, asks, prints',
    'admin catalogue config copies cycle daemon desk feed files mirror push receiver sandbox says schedule storefront',
  ),
  daemon: room(
    'the running whole: starts and stops the parts, runs each job when its needs are met, stands by for another',
    'admin catalogue config copies cycle desk feed files mirror push receiver says schedule service storefront',
  ),
  copies: room('the mirror elsewhere: a follower’s file, PostgreSQL, the lease', 'admin feed mirror receiver'),
  admin: room(
    'HTTP on the local port: the API, the page and /metrics. It shows, and passes on',
    'catalogue cycle desk feed files mirror push receiver says schedule storefront',
  ),
  says: room(
    'what is true now: status, conditions, doctor, explain, the week, probe, the metrics',
    'catalogue config desk feed files mirror push receiver schedule service trust',
  ),
  cycle: room(
    'one sync cycle: takes what is due, gives it to workers; resyncs and random reads',
    'catalogue dates push schedule service trust',
  ),
  desk: room(
    'a check or an order, answered within its deadline, with a verdict and its reasons',
    'catalogue dates mirror schedule service',
  ),
  dates: room('windows of dates: days, times, prices, availability', 'catalogue feed mirror schedule service trust'),
  catalogue: room(
    'products, texts, variants, experiences, tags, images: read, stored, shown',
    'dates feed mirror push schedule service storefront trust',
  ),
  push: room(
    'what notifications mean, which are missing, and the subscriptions that send them',
    'catalogue mirror receiver schedule service trust',
  ),
  trust: room(
    'whether an answer is believed: claims, holds, samples, refusals',
    'catalogue dates mirror schedule service',
  ),
  schedule: room(
    'when each record is read again, why, and for which share of the calls',
    'catalogue mirror service trust',
  ),
  mirror: room(
    'mirror.db: the declared contract, typed SQL, the file opened, its stores together',
    'catalogue desk feed push says schedule storefront trust',
  ),
  receiver: room('each delivery is stored before it is answered; it does not know the mirror'),
  service: room('calls to the service: one limiter, one adapter, decoded answers'),
  feed: room('every visible change, once, in order; rows for copies', 'mirror'),
  files: room(
    'both files whole on the disk: locks, repair, backup, restore, the published snapshot',
    'config feed mirror receiver says',
  ),
  storefront: room(
    'what shops read with: the reader, search, the reader over HTTP. It knows the views, and nothing that fills them',
    'mirror',
  ),
  config: room('file and environment become a configuration, or all its problems at once', 'receiver'),
  sandbox: room('plays the service: a second reading of the specification. It shares nothing with ours'),
  kernel: room('clock, errors, log, numbers, SQLite and HTTP, as the rooms use them'),
};

/** What a file may import beside its own layer: everything below. */
const layers: readonly (readonly [name: string, of: RegExp])[] = [
  ['kernel', /^(?:kernel\/|package\.ts$)/],
  ['rules', /\.rules\.ts$/],
  ['declarations', /^mirror\/(?:contract|sql)\//],
  ['stores', /\.store\.ts$|^(?:receiver|service)\//],
  ['mirror', /^mirror\//],
  ['work', /./],
];

const layerOf = (file: string) => layers.findIndex(([, of]) => of.test(file));
const isRule = (file: string) => file.endsWith('.rules.ts');
const roomOf = (file: string) => file.split('/')[0] ?? '';

/** What the reader carries may know: programs that are not this one have no more of us. */
const reader = /^(?:kernel|storefront)\/(?!.*\.store\.ts$)|^mirror\/contract\/(?:contract|table)\.ts$/;
const isOfReader = (file: string) => file.startsWith('storefront/') && !file.endsWith('.store.ts');

/** One door a library. */
const doors: Record<string, RegExp> = {
  'better-sqlite3': /^kernel\/sqlite\//,
  pg: /^copies\/postgres\/connect\.ts$/,
  kysely: /^kernel\/sqlite\/statements\.ts$/,
  jose: /^push\/signing\.ts$/,
  undici: /^service\/(?:http|image-host|response)\.ts$/,
  croner: /^kernel\/time\/wall-clock\.ts$/,
  pino: /^kernel\/log\.ts$/,
  fastify: /^(?:admin\/(?:page\/)?[a-z-]+|receiver\/listener|kernel\/http\/kept-listener)\.ts$/,
  'prom-client': /^says\/metrics\/exposition\.ts$/,
  commander: /^commands\/.*\.ts$/,
  // The shape of an answer stands beside the code that makes it; a command that asks a daemon knows its type, and loads none.
  zod: /^(?:config\/.*|files\/backup\/manifest|admin\/(?:api(?:\/[a-z-]+)?|openapi|request)|kernel\/values\/answer-values|cycle\/request-resync|daemon\/job-runs\.rules|desk\/(?:alternatives|check-answer|orders)|push\/subscriptions?(?:\.ask)?|says\/(?:conditions\/(?:decide|facts)\.rules|explain\/[a-z-]+|probe\/probe\.ask)|schedule\/call-plan)\.ts$/,
  '@orama/stemmers': /^storefront\/search\/search-stems\.store\.ts$/,
  yaml: /^config\/.*\.ts$/,
};

/** Returns the imports that a room, a layer or the door of a library forbids. */
export function broken(imports: readonly Import[]): string[] {
  return imports.filter((each) => !isAllowed(each)).map(({ file, of }) => `${file} imports ${of}`);
}

function isAllowed({ file, of }: Import): boolean {
  if (of.startsWith('node:')) return true;
  if (!of.endsWith('.ts')) return doors[packageOf(of)]?.test(file) ?? false;
  if (file === 'cli.ts') return roomOf(of) === 'commands';
  if (isOfReader(file) && !reader.test(of)) return false;
  const [from, to] = [roomOf(file), roomOf(of)];
  const isOpen = to === 'kernel' || of === 'package.ts' || (isRule(of) && from !== 'sandbox');
  return layerOf(of) <= layerOf(file) && (isOpen || from === to || rooms[from]?.imports.includes(to) === true);
}

/** Returns the arrows of the table that no file needs any more. */
export function unused(imports: readonly Import[]): string[] {
  const used = new Set(
    imports.filter(({ of }) => !isRule(of)).map(({ file, of }) => `${roomOf(file)} imports ${roomOf(of)}`),
  );
  return Object.entries(rooms)
    .flatMap(([name, { imports: all }]) => all.map((each) => `${name} imports ${each}`))
    .filter((arrow) => !used.has(arrow));
}

/** The imports of each layer that lead to the same layer. */
export function layersOf(imports: readonly Import[]): [name: string, within: Import[]][] {
  return layers.map(([name], layer) => [
    name,
    imports.filter(({ file, of }) => of.endsWith('.ts') && layerOf(file) === layer && layerOf(of) === layer),
  ]);
}

/** Returns the rooms that import each other within a layer, also by way of others. */
export function cyclesOfRooms(imports: readonly Import[]): string[] {
  return layersOf(imports).flatMap(([name, within]) =>
    importGraph(within).cycles.map((knot) => `${name}: ${knot.join(' ⇄ ')}`),
  );
}

/** Returns the picture of the rooms for docs/architecture.md: who works with whom, without arrows that a longer way says. */
export function picture(imports: readonly Import[]): string {
  const { arrows } = importGraph(layersOf(imports).at(-1)?.[1] ?? []);
  const own = arrows.filter(([from, to]) => from in rooms && to in rooms);
  const next = (from: string) => own.filter(([name]) => name === from).map(([, to]) => to);
  const reaches = (from: string, to: string): boolean => next(from).some((each) => each === to || reaches(each, to));
  const short = own.filter(([from, to]) => !next(from).some((by) => by !== to && reaches(by, to)));
  return ['flowchart TD', ...short.map(([from, to]) => `  ${from} --> ${to}`)].join('\n');
}

/** The rooms as docs/architecture.md lists them. */
export function tableOfRooms(): string {
  const rows = Object.entries(rooms).map(([name, { promise }]) => `| \`${name}/\` | ${promise} |`);
  return ['| Room | Promises |', '|---|---|', ...rows].join('\n');
}
