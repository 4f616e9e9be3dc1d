#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync, writeSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';

// Checked before any native import: better-sqlite3 crashes an older Node with a segmentation fault.
const needed = 26;
// `npm ci` installs a Node for hosts whose own is older, beside dist/ in a checkout.
const projectNode = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= needed) await run();
else if (existsSync(projectNode)) handOver();
else {
  process.stderr.write(
    `Error: catalogued needs Node ${needed} or newer, this is ${process.versions.node}\nTry: install Node ${needed} (in a checkout npm ci does), then run the same command again\n`,
  );
  process.exitCode = 78;
}

/**
 * Runs the program under the project's Node, as a child that gets our signals and ends with us, even if we are killed.
 */
function handOver(): void {
  const child = spawn(projectNode, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // A terminal sends SIGINT to both processes: only signals sent to us alone are passed on.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => {
    const ofPerson = signal !== null && ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'].includes(signal);
    process.exitCode = code ?? (ofPerson ? 128 + constants.signals[signal] : 70);
  });
}

async function run(): Promise<void> {
  // The older Node that started us is gone: end at once, as it did.
  process.on('disconnect', () => process.exit(70));
  process.channel?.unref();

  // Lets the heap grow by a quarter between collections instead of several times over: a fill holds a third less
  // memory.
  v8.setFlagsFromString('--heap-growing-percent=25');
  // Keeps compiled code between starts, in the temporary directory: `status` answers in half the time.
  module.enableCompileCache?.();
  const { main, commandNamed, report, Stopped } = await import('./commands/main.ts');
  const args = process.argv.slice(2);
  const stopping = new AbortController();
  let isAtOnce = false;
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    // A second signal ends the program at once, also a daemon that drains.
    const stopped = new Stopped(signal);
    if (isAtOnce || stopping.signal.aborted) process.exit(stopped.exitCode);
    stopping.abort(stopped);
  };
  // No listener of ours hears a signal while SQLite or the disk is busy: where nothing has to be finished, the system ends the
  // process. Only process 1 of a container it does not end.
  const finishesOnSignal = (finishes: boolean) => {
    isAtOnce = !finishes;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.off(signal, stop);
      if (finishes || process.pid === 1) process.on(signal, stop);
    }
  };
  finishesOnSignal(commandNamed(args) !== 'run');
  // SIGHUP asks a daemon to reload. Any other command has lost its terminal: it ends in order, and a second SIGHUP does
  // not hurry it.
  process.on('SIGHUP', () => {
    if (commandNamed(args) !== 'run') stopping.abort(new Stopped('SIGHUP'));
  });
  const onHangup = (listener: () => void): Disposable => {
    process.on('SIGHUP', listener);
    return { [Symbol.dispose]: () => void process.off('SIGHUP', listener) };
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The daemon outlives the reader of its log: its work is worth more than the log lines.
    if (commandNamed(args) === 'run') return;
    // The reader of a pipe has left (`catalogued status | head -1`): nobody reads an error.
    if (error.code === 'EPIPE') process.exit(0);
    // Exit 1 would mean that the answer is no, but it could not be printed.
    writeSync(2, `Error: cannot write the output: ${error.message}\n`);
    process.exit(74);
  });
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads standard error (`2>&1 | head`): no reason to print a stack or to end a daemon.
    if (commandNamed(args) !== 'run') process.exit(error.code === 'EPIPE' ? 0 : 74);
  });
  const { stdout, stderr, env } = process;
  const io = { stdout, stderr, env, signal: stopping.signal, onHangup, finishesOnSignal };
  // Uncaught errors are reported like any other, and nothing half done is saved.
  process.on('uncaughtException', (error) => process.exit(report(error, io, commandNamed(args))));
  process.exitCode = await main(args, io);
}
