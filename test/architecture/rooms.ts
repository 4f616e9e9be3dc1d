import { type Import, importGraph, packageOf } from './import-graph.ts';

/**
 * The rooms whose files a room may import, from what a person types down to what imports nothing. All may import `kernel`,
 * their own room, and the rules of each room, which are pure. A layer forbids more.
 */
export const rooms: Readonly<Record<string, string>> = {
  commands:
    'admin catalogue config copies cycle daemon desk feed files mirror push receiver sandbox says schedule storefront',
  daemon: 'admin catalogue config copies cycle desk feed files mirror push receiver says schedule service storefront',
  copies: 'admin feed mirror receiver',
  admin: 'catalogue cycle desk feed files mirror push receiver says schedule storefront',
  says: 'catalogue config desk feed files mirror push receiver schedule service trust',
  cycle: 'catalogue dates push schedule service trust',
  desk: 'catalogue dates mirror schedule service',
  dates: 'catalogue feed mirror schedule service trust',
  catalogue: 'dates feed mirror push schedule service storefront trust',
  push: 'catalogue mirror receiver schedule service trust',
  trust: 'catalogue dates mirror schedule service',
  schedule: 'catalogue mirror service trust',
  mirror: 'catalogue desk feed push says schedule storefront trust',
  receiver: '',
  service: '',
  feed: 'mirror',
  files: 'config feed mirror receiver says',
  storefront: 'mirror',
  config: 'receiver',
  sandbox: '',
  kernel: '',
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
  return layerOf(of) <= layerOf(file) && (isOpen || from === to || rooms[from]?.split(' ').includes(to) === true);
}

/** Returns the arrows of the table that no file needs any more. */
export function unused(imports: readonly Import[]): string[] {
  const used = new Set(
    imports.filter(({ of }) => !isRule(of)).map(({ file, of }) => `${roomOf(file)} imports ${roomOf(of)}`),
  );
  return Object.entries(rooms)
    .flatMap(([name, all]) => all.split(' ').map((each) => `${name} imports ${each}`))
    .filter((arrow) => !arrow.endsWith(' '))
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
