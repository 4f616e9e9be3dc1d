import { Command, CommanderError } from 'commander';
import { writeRefusal } from '../files/write-refusal.ts';
import { CataloguedError, type ExitCode, exitCodes, Stopped } from '../kernel/errors.ts';
import { printableOutput } from '../kernel/format.ts';
import { isWithoutDescriptors, outOfDescriptors } from '../kernel/sqlite/descriptors.ts';
import { failedDiskHint, faultOf } from '../kernel/sqlite/fault.ts';
import { version } from '../package.ts';
import type { Io, Outside } from './terminal/io.ts';
import { foldedHelp, readableWidth } from './terminal/table.ts';

export { Stopped };

/** The commands. Only the module of the command typed is loaded, so that `status` answers at once. */
const commands: Readonly<Record<string, { group: string; summary: string; load: (io: Io) => Promise<Command> }>> = {
  demo: {
    group: 'First steps:',
    summary: 'see it work with a simulated service; needs no account and no network',
    load: async (io) => (await import('./sandbox/demo.ts')).demoCommand(io),
  },
  sandbox: {
    group: 'First steps:',
    summary: 'run only the simulated service, to develop and test against',
    load: async (io) => (await import('./sandbox/sandbox.ts')).sandboxCommand(io),
  },
  run: {
    group: 'Run:',
    summary: 'run the daemon in the foreground: keep the mirror in sync',
    load: async (io) => (await import('./run.ts')).runCommand(io),
  },
  reload: {
    group: 'Run:',
    summary: 'make the running daemon read its configuration again',
    load: async (io) => (await import('./reload.ts')).reloadCommand(io),
  },
  service: {
    group: 'Run:',
    summary: 'install the daemon as a service of systemd: user, unit, first configuration',
    load: async (io) => (await import('./service/service.ts')).serviceCommand(io),
  },
  config: {
    group: 'Run:',
    summary: 'check, show or describe the configuration',
    load: async (io) => (await import('./config.ts')).configCommand(io),
  },
  completion: {
    group: 'Run:',
    summary: 'print a script that completes commands in bash or zsh',
    load: async (io) => (await import('./completion.ts')).completionCommand(io, () => everyCommand(io)),
  },
  status: {
    group: 'Look:',
    summary: 'show what is mirrored, how old it is, and which freshness targets are met',
    load: async (io) => (await import('./status/status.ts')).statusCommand(io),
  },
  explain: {
    group: 'Look:',
    summary: 'show when and why a product was read, and when it will be read next',
    load: async (io) => (await import('./explain.ts')).explainCommand(io),
  },
  plan: {
    group: 'Look:',
    summary: 'show what the call budget covers, and what more would cost',
    load: async (io) => (await import('./plan.ts')).planCommand(io),
  },
  report: {
    group: 'Look:',
    summary: 'report a week of the catalogue: new and closed products, prices, searches without results',
    load: async (io) => (await import('./report/report.ts')).reportCommand(io),
  },
  changes: {
    group: 'Look:',
    summary: 'print the change feed, and follow it',
    load: async (io) => (await import('./changes.ts')).changesCommand(io),
  },
  follow: {
    group: 'Run:',
    summary: "keep a copy of another host's mirror, for the storefronts here",
    load: async (io) => (await import('./follow.ts')).followCommand(io),
  },
  database: {
    group: 'Run:',
    summary: 'prepare, check or compare the PostgreSQL that the mirror is published into',
    load: async (io) => (await import('./database.ts')).databaseCommand(io),
  },
  images: {
    group: 'Look:',
    summary: 'audit published images: credit, last confirmation, when they will be hidden',
    load: async (io) => (await import('./images/images.ts')).imagesCommand(io),
  },
  jobs: {
    group: 'Look:',
    summary: "list the daemon's jobs: last run, next run, failures; run one now",
    load: async (io) => (await import('./jobs.ts')).jobsCommand(io),
  },
  probe: {
    group: 'Look:',
    summary: 'compare the live service with our assumptions, in at most 40 calls',
    load: async (io) => (await import('./probe.ts')).probeCommand(io),
  },
  check: {
    group: 'Act:',
    summary: 'check live, before an order, whether what was shown still holds',
    load: async (io) => (await import('./check.ts')).checkCommand(io),
  },
  order: {
    group: 'Act:',
    summary: 'report an order, so that its dates are read again',
    load: async (io) => (await import('./order.ts')).orderCommand(io),
  },
  resync: {
    group: 'Act:',
    summary: 'read the named records again now',
    load: async (io) => (await import('./resync/resync.ts')).resyncCommand(io),
  },
  held: {
    group: 'Act:',
    summary: 'list, approve or reject answers that take too much away at once',
    load: async (io) => (await import('./held.ts')).heldCommand(io),
  },
  notifications: {
    group: 'Act:',
    summary: 'list, show or replay what the service has sent',
    load: async (io) => (await import('./notifications.ts')).notificationsCommand(io),
  },
  subscription: {
    group: 'Act:',
    summary: 'compare, apply, reactivate or rotate subscriptions to change notifications',
    load: async (io) => (await import('./subscription.ts')).subscriptionCommand(io),
  },
  ack: {
    group: 'Act:',
    summary: 'acknowledge a condition until it ends',
    load: async (io) => (await import('./ack.ts')).ackCommand(io),
  },
  doctor: {
    group: 'Maintain and fix:',
    summary: 'find what is wrong with configuration, credentials, clock, disk, service or receiver, and how to fix it',
    load: async (io) => (await import('./doctor.ts')).doctorCommand(io),
  },
  repair: {
    group: 'Maintain and fix:',
    summary: 'set aside a broken mirror or inbox, so that the daemon can start; deletes nothing',
    load: async (io) => (await import('./repair.ts')).repairCommand(io),
  },
  backup: {
    group: 'Maintain and fix:',
    summary: 'make a verified backup of both files, or list the backups',
    load: async (io) => (await import('./backup.ts')).backupCommand(io),
  },
  restore: {
    group: 'Maintain and fix:',
    summary: "put a backup in the mirror's place; deletes nothing",
    load: async (io) => (await import('./restore.ts')).restoreCommand(io),
  },
  upgrade: {
    group: 'Maintain and fix:',
    summary: 'show what the next start with this version will do to the files',
    load: async (io) => (await import('./upgrade.ts')).upgradeCommand(io),
  },
  bugreport: {
    group: 'Maintain and fix:',
    summary: 'write one archive for support, without a secret',
    load: async (io) => (await import('./bugreport/command.ts')).bugreportCommand(io),
  },
};

/** Commands that others have replaced. */
const replaced: Readonly<Record<string, string>> = { removals: 'held' };

/**
 * Runs one command line and returns its exit code. Prints errors, without a stack for what a person can fix. A command
 * that a signal has stopped before it was done ends with the code of that signal, also where it swallowed the abort.
 */
export async function main(args: readonly string[], outside: Outside): Promise<ExitCode> {
  let answer: ExitCode = exitCodes.done;
  let untilStopped = false;
  let left = '';
  const { signal } = outside;
  const io: Io = {
    ...outside,
    stdout: harmless(outside.stdout),
    stderr: harmless(outside.stderr),
    answerIsNo: () => {
      answer = exitCodes.no;
    },
    runsUntilStopped: () => {
      untilStopped = true;
    },
    ifStopped: (says, hint) => {
      left = `: ${says}${hint === undefined ? '' : `\nTry: ${hint}`}`;
    },
  };
  try {
    const program = await programFor(args, io);
    signal.throwIfAborted();
    await program.parseAsync([...args], { from: 'user' });
    if (!untilStopped) signal.throwIfAborted();
    return answer;
  } catch (error) {
    if (!isOfStop(error, signal, untilStopped)) return report(error, io, commandNamed(args));
    if (untilStopped) return exitCodes.done;
    const { message, exitCode } = signal.reason as Stopped;
    io.stderr.write(`Error: ${message} before it was done${left}\n`);
    return exitCode;
  }
}

/** Returns whether the stop caused an error: it is the reason of the abort, or says that somebody did not answer. */
function isOfStop(thrown: unknown, { aborted, reason }: AbortSignal, untilStopped: boolean): boolean {
  if (!aborted || !(reason instanceof Stopped)) return false;
  const error = decisive(firstOf(thrown));
  if (chainOf(firstOf(thrown)).includes(reason)) return true;
  const unanswered: readonly ExitCode[] = [exitCodes.unavailable, exitCodes.retryLater];
  return !untilStopped && error instanceof CataloguedError && unanswered.includes(error.exitCode);
}

/** Returns the stream with everything written to it made harmless (`printableOutput`). */
function harmless<Stream extends Io['stdout']>(stream: Stream): Stream {
  return new Proxy(stream, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'write')
        return (text: unknown, ...rest: []) =>
          target.write((typeof text === 'string' ? printableOutput(text) : text) as string, ...rest);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Returns the name of the command in a command line; undefined without one. */
export function commandNamed(args: readonly string[]): string | undefined {
  return args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--config');
}

async function programFor(args: readonly string[], io: Io): Promise<Command> {
  const program = emptyProgram();
  const named = commandNamed(args) ?? '';
  if (Object.hasOwn(replaced, named))
    throw new CataloguedError('replaced-command', `${named} is now ${replaced[named]}`, {
      exitCode: exitCodes.usage,
      hint: `catalogued ${replaced[named]} --help`,
    });
  for (const [name, { group, summary, load }] of Object.entries(commands)) {
    const command = name === named ? await load(io) : new Command(name).description(summary);
    program.addCommand(command.helpGroup(group));
  }
  quiet(program, io);
  return program;
}

/** Loads every command, with its options: only completion knows them all. */
async function everyCommand(io: Io): Promise<Command> {
  const program = emptyProgram();
  for (const { summary, load } of Object.values(commands)) program.addCommand((await load(io)).description(summary));
  return program;
}

function emptyProgram(): Command {
  return new Command('catalogued')
    .description("Keeps a partner's local copy of a ticketing service's catalogue in sync.")
    .version(version)
    .option(
      '--config <file>',
      'the configuration file (default: $CATALOGUED_CONFIG, /etc/catalogued/catalogued.yaml or ./catalogued.yaml)',
    )
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued demo                                    # see it work, without any set-up\n  catalogued --config catalogued.yaml run            # keep a mirror in sync\n  catalogued --config catalogued.yaml status         # is it up to date?',
    );
}

/** Directs a command's output to `io` and makes commander throw: only `main` ends the process. */
function quiet(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    getOutHelpWidth: () => readableWidth(io),
    writeOut: (text) => io.stdout.write(foldedHelp(text, readableWidth(io))),
    writeErr: (text) => io.stderr.write(text.startsWith('error:') ? `Error:${text.slice('error:'.length)}` : text),
  });
  for (const each of command.commands) quiet(each, io);
}

/** Prints what ended the program, the first cause first, and returns its exit code. */
export function report(thrown: unknown, { stderr }: Outside, named: string | undefined): ExitCode {
  const found = decisive(firstOf(thrown));
  const error = isWithoutDescriptors(found) ? outOfDescriptors(found) : found;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done;
    const of = named !== undefined && Object.hasOwn(commands, named) ? ` ${named}` : '';
    if (error.code !== 'commander.help') stderr.write(`Try: catalogued${of} --help\n`);
    return exitCodes.usage;
  }
  if (error instanceof Stopped) return error.exitCode;
  if (error instanceof CataloguedError) {
    stderr.write(`Error: ${error.message}\n`);
    for (const detail of error.details) stderr.write(`  ${detail}\n`);
    if (error.hint !== undefined) stderr.write(`Try: ${error.hint}\n`);
    return error.exitCode;
  }
  if (isDiskFailure(error)) {
    stderr.write(`Error: the disk failed: ${(error as Error).message}\nTry: ${failedDiskHint}\n`);
    return exitCodes.io;
  }
  stderr.write(`Error: ${stacksOf(error)}\nTry: report this as a bug in catalogued ${version}\n`);
  return exitCodes.bug;
}

/** Returns what was thrown first: failures of closing afterwards are wrapped around it. */
function firstOf(error: unknown): unknown {
  let first = error;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}

/** Returns the error in a chain of causes that a person can act on; the outermost one if there is none. */
function decisive(error: unknown): unknown {
  for (const each of chainOf(error)) {
    if (each instanceof CataloguedError) return each;
    const refused = writeRefusal(each);
    if (refused !== null) return refused;
    if (isDiskFailure(each)) return each;
  }
  return error;
}

function isDiskFailure(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === 'io' || fault === 'sync';
}

function stacksOf(error: unknown): string {
  const stack = (each: unknown) => (each instanceof Error ? (each.stack ?? each.message) : String(each));
  return [error, ...chainOf(error).slice(1)].map(stack).join('\nCaused by: ');
}

/** Returns an error and its causes, the outermost first; at most a handful, in case they form a circle. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < 8; each = firstOf(each.cause)) chain.push(each);
  return chain;
}
