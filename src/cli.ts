#!/usr/bin/env node
// The first thing checked, before any native import: better-sqlite3 ends an older Node with a segmentation fault.
const needed = 26;
if (Number(process.versions.node.split('.')[0]) < needed) {
  process.stderr.write(
    `Error: catalogued needs Node ${needed} or newer, this is ${process.versions.node}\n` +
      'Try: npm ci, which brings one along, then npm start or npx catalogued\n',
  );
  process.exit(78);
}

const { main } = await import('./main.ts');
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(70);
    stopping.abort(new Error(`stopped by ${signal}`));
  });
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe has left (`catalogued status | head -1`): nobody is there to tell.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: stopping.signal,
});
