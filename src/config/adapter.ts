import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Adapter } from '../service/adapter.rules.ts';
import { builtIn, type NamedAdapter } from '../service/named-adapter.rules.ts';
import { writtenByOthers } from './written-by-others.ts';

/** An adapter that cannot be used. The message says why, and what is expected. */
export class AdapterRefused extends Error {
  override readonly name = 'AdapterRefused';
}

/**
 * Loads the adapter of a file, relative to the working directory, and runs its module; null: the one that is built in. A file
 * that has changed is loaded again; what it imports is not. One that others can write is refused (77), and not run.
 */
export function loadAdapter(file: string | null): NamedAdapter {
  if (file === null) return builtIn;
  const path = resolve(file);
  const refused = writtenByOthers(path, 'service.adapter');
  if (refused !== null) throw refused;
  const bytes = read(path);
  const digest = `sha256:${hash('sha256', bytes).slice(0, 12)}`;
  return { file: path, hash: digest, module: functionsOf(run(path, bytes.toString(), digest)) };
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AdapterRefused(
      code === 'ENOENT' || code === 'ENOTDIR'
        ? `there is no file ${path}; expected a module that exports request, answer or both`
        : `cannot read ${path} (${code}); expected a module that this user can read`,
    );
  }
}

/**
 * Runs a module and returns its exports. The hash is part of its address: Node keeps a module for as long as the process
 * runs.
 */
function run(path: string, source: string, digest: string): Record<string, unknown> {
  const url = pathToFileURL(`${path}?${digest}`).href;
  const format = path.endsWith('.ts') ? 'module-typescript' : 'module';
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === url ? { url, format, shortCircuit: true } : next(specifier, context),
    load: (address, context, next) =>
      address === url ? { format, source, shortCircuit: true } : next(address, context),
  });
  try {
    return createRequire(import.meta.url)(url) as Record<string, unknown>;
  } catch (error) {
    throw new AdapterRefused(`does not load: ${whyNot(error, path)}`);
  } finally {
    hooks.deregister();
  }
}

function whyNot(error: unknown, path: string): string {
  if (!(error instanceof Error)) return `it throws ${String(error)}`;
  if ((error as NodeJS.ErrnoException).code === 'ERR_REQUIRE_ASYNC_MODULE')
    return 'it awaits at its top level; expected a module that does not wait';
  const [first = ''] = error.message.split('\n');
  const line =
    error instanceof SyntaxError ? lineOfMistake(path) : /%3Fsha256[^:]*:[0-9a-f]+:(\d+)/.exec(error.stack ?? '')?.[1];
  return `${line === undefined ? '' : `line ${line}: `}${error.name}: ${first}`;
}

/** Node reports the line of a mistake in a module only in text for people. */
function lineOfMistake(path: string): string | undefined {
  try {
    execFileSync(process.execPath, ['--check', path], { stdio: 'pipe', timeout: 10_000 });
    return undefined;
  } catch (error) {
    return /^.*:(\d+)$/m.exec(String((error as { stderr?: unknown }).stderr))?.[1];
  }
}

function functionsOf(exported: Record<string, unknown>): Partial<Adapter> {
  const { request, answer } = exported;
  const found = Object.entries({ request, answer }).filter(([, value]) => value !== undefined);
  if (found.length === 0) {
    const names =
      Object.keys(exported)
        .filter((name) => name !== '__esModule')
        .slice(0, 5)
        .join(', ') || 'nothing';
    throw new AdapterRefused(`exports ${names}; expected a function request, a function answer, or both`);
  }
  for (const [name, value] of found) {
    if (typeof value !== 'function')
      throw new AdapterRefused(
        `exports ${name}, which is ${value === null ? 'null' : `a ${typeof value}`}; expected a function`,
      );
    if (value.constructor.name === 'AsyncFunction')
      throw new AdapterRefused(
        `exports ${name}, which is async; expected a function that returns its value: an adapter cannot wait`,
      );
  }
  return Object.fromEntries(found) as Partial<Adapter>;
}
