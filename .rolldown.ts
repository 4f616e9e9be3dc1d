import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Plugin, type RolldownOptions, rolldown } from 'rolldown';
import { ownPrograms } from './src/package.ts';

/*
 * Builds dist/: `node .rolldown.ts`. rolldown's own command would print a list of every file at each `npm ci`.
 *
 * The program in few files instead of 1,700: it starts in half the time, and takes 40 MB less. What a command alone needs
 * stays in a file of its own. All that the program needs becomes part of it, so that nothing is installed beside it.
 */

/** The suite builds one of its own. */
const dist = resolve(import.meta.dirname, process.env.CATALOGUED_DIST ?? 'dist');
const modules = join(import.meta.dirname, 'node_modules');

/** A native addon cannot be bundled: it is copied with the JavaScript around it, and without the C sources. */
const addon = 'better-sqlite3';

/** As the files right below dist/ import it. */
const beside = `./${addon}/lib/index.js`;

const copiedAddon: Plugin = {
  name: 'copied-addon',
  resolveId: (id) => (id === addon ? { id: beside, external: true } : null),
  writeBundle(_, bundle) {
    for (const file of Object.values(bundle))
      if (file.type === 'chunk' && file.fileName.includes('/') && file.imports.includes(beside))
        throw new Error(`${file.fileName} imports ${beside}, which does not lie there`);
    for (const part of ['lib', 'prebuilds', 'package.json', 'LICENSE'])
      cpSync(join(modules, addon, part), join(dist, addon, part), { recursive: true });
  },
};

/** Writes licenses.txt, with the version and the licence of each package that is part of the program. */
const licenses: Plugin = {
  name: 'licenses',
  generateBundle(_, bundle) {
    const bundled = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
    const packages = new Set(
      bundled.flatMap((id) => /.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(id)?.[1] ?? []),
    );
    const source = [...packages.add(addon)].sort().map(licenseOf).join('\n');
    this.emitFile({ type: 'asset', fileName: 'licenses.txt', source });
  },
};

function licenseOf(name: string): string {
  const directory = join(modules, name);
  const { version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  const file = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? '' : `\n${readFileSync(join(directory, file), 'utf8').trim()}\n`;
  return `== ${name} ${version} (${license})\n${text}`;
}

/** The package of the reader: what npm needs to know, its README and its types. */
const readerPackage: Plugin = {
  name: 'reader-package',
  generateBundle() {
    const { version, license } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as {
      version: string;
      license: string;
    };
    const described = {
      name: 'catalogued-reader',
      version,
      description:
        'Reads the SQLite mirror that catalogued keeps of a ticketing catalogue: products, calendars, search',
      license,
      main: './index.cjs',
      types: './index.d.cts',
      exports: {
        '.': {
          import: { types: './index.d.mts', default: './index.mjs' },
          require: { types: './index.d.cts', default: './index.cjs' },
        },
        './http': {
          import: { types: './http.d.mts', default: './http.mjs' },
          require: { types: './http.d.cts', default: './http.cjs' },
        },
        './package.json': './package.json',
      },
      engines: { node: '>=22.16' },
      peerDependencies: { 'better-sqlite3': '>=11' },
      peerDependenciesMeta: { 'better-sqlite3': { optional: true } },
    };
    const types = (name: string) => `export * from './types/storefront/${name}.js';\n`;
    const files = {
      'package.json': `${JSON.stringify(described, null, 2)}\n`,
      'README.md': readFileSync(join(import.meta.dirname, 'docs/reader.md'), 'utf8'),
      LICENSE: readFileSync(join(import.meta.dirname, 'LICENSE'), 'utf8'),
      'index.d.mts': types('reader'),
      'index.d.cts': types('reader'),
      'http.d.mts': types('http'),
      'http.d.cts': types('http'),
    };
    for (const [fileName, source] of Object.entries(files)) this.emitFile({ type: 'asset', fileName, source });
  },
};

/** The files of the package, for `import` and for `require`. The one over HTTP knows no Node. */
const packaged = [
  { input: { index: 'src/storefront/reader.ts' }, platform: 'node' },
  { input: { http: 'src/storefront/http.ts' }, platform: 'neutral' },
] as const;

const builds: readonly RolldownOptions[] = [
  {
    input: Object.fromEntries(['cli', 'storefront/reader', ...ownPrograms].map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    plugins: [copiedAddon, licenses],
    output: {
      dir: dist,
      // Right below dist/: src/package.ts finds the package from there.
      chunkFileNames: '[name]-[hash].js',
      cleanDir: true,
      comments: false,
    },
  },
  ...packaged.flatMap((each) => [
    {
      ...each,
      plugins: each.platform === 'node' ? [readerPackage] : [],
      output: { dir: join(dist, 'reader'), format: 'esm', entryFileNames: '[name].mjs', comments: false } as const,
    },
    {
      ...each,
      output: { dir: join(dist, 'reader'), format: 'cjs', entryFileNames: '[name].cjs', comments: false } as const,
    },
  ]),
];

// One after the other: the first empties the directory that the others write into.
for (const { output, ...input } of builds) {
  await using bundle = await rolldown(input);
  for (const each of [output].flat()) await bundle.write(each);
}
