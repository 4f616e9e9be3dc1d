import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { needs } from '../../fakes/needs.ts';

/** What is loaded of a package once the whole program is. */
function loadedBy(program: string): string[] {
  const script = `
    ${program}
    const { Module } = await import('node:module');
    console.log(JSON.stringify(Object.keys(Module._cache).filter((file) => file.includes('/node_modules/pg'))));`;
  const cwd = new URL('../../../', import.meta.url);
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd, encoding: 'utf8' }));
}

test('nothing of the driver is loaded with the daemon, only by who connects', needs('time'), () => {
  const everything = "await import('./src/commands/main.ts'); await import('./src/daemon/daemon.ts');";
  expect(loadedBy(everything)).toEqual([]);
  const connecting = `
    const { connectPostgres } = await import('./src/copies/postgres/connect.ts');
    await connectPostgres({ url: 'postgres://host/database', schema: 'catalogued' });`;
  expect(loadedBy(connecting).length).toBeGreaterThan(10);
});
