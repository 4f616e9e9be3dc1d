import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config, LoadedConfig } from '../../config/load.ts';
import { pairRecordOf } from '../../files/pair.ts';
import { troubleOf } from '../../files/pair-trouble.rules.ts';
import { CataloguedError } from '../../kernel/errors.ts';
import { type FileKind, refuseUnusable } from '../../kernel/sqlite/database-file.ts';
import { nearestDirectory, reasonOf, statOf, unshared } from '../../kernel/sqlite/directory.ts';
import { noteOf } from '../../kernel/sqlite/identity.ts';
import { checkedAtOnce, isChecked, lookBeside } from '../../kernel/sqlite/look.ts';
import { repairHint } from '../../kernel/sqlite/refusals.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { inboxFile } from '../../receiver/inbox.ts';
import { type Check, ok, skipped, wrong } from './check.ts';

const megabyte = 1024 * 1024;
const repair = `stop the daemon, and: ${repairHint}`;

/** Checks that both files exist and are sound, page by page up to a size. Safe beside a running daemon. */
export function fileChecks({ mirror }: Config): Check[] {
  const inbox = fileCheck('inbox', mirror.inbox_path, inboxFile);
  return [mirrorLost(mirror, inbox) ?? fileCheck('mirror', mirror.path, mirrorFile), inbox];
}

function fileCheck(name: string, path: string, kind: FileKind): Check {
  try {
    const look = lookBeside(path, kind, isChecked(path) ? 'whole' : 'header');
    if (look.condition === 'missing') return skipped(name, `${path} will be created at the first start`);
    if (look.condition === 'empty') return skipped(name, `${path} is empty: it will be created at the first start`);
    refuseUnusable(path, kind, look);
    return ok(
      name,
      isChecked(path)
        ? `${path} is sound`
        : `${path} is a file of catalogued; larger than ${checkedAtOnce / megabyte} MiB, so only the daemon checks it completely, daily`,
    );
  } catch (error) {
    if (!(error instanceof CataloguedError)) return wrong(name, `${path}: ${(error as Error).message}`, repair);
    return wrong(name, error.message, error.code === 'damaged' ? repair : (error.hint ?? repair));
  }
}

/** Returns the check for a mirror that is missing or empty although the inbox belongs to one; else null. */
function mirrorLost({ path, inbox_path }: Config['mirror'], inbox: Check): Check | null {
  const size = noteOf(path)?.size;
  if (inbox.verdict !== 'ok' || (size !== undefined && size > 0)) return null;
  const facts = {
    mirror: size === undefined ? ('missing' as const) : ('empty' as const),
    inbox: 'well' as const,
    expects: pairRecordOf(inbox_path)?.expects ?? null,
    paired: null,
    backup: false,
  };
  if (troubleOf(facts) === null) return null;
  return wrong('mirror', `${path} is ${facts.mirror}, and the inbox belongs to one`, `put it back, or ${repair}`);
}

/** Checks owner and mode of a directory of ours, or that a missing one could be created. */
export function directoryCheck(name: string, path: string, use: 'private' | 'shared'): Check {
  const stats = statOf(path);
  if (stats === null) {
    const problem = cannotMake(path);
    return problem === null
      ? skipped(name, `${path} will be created at the first start`)
      : wrong(name, `there is no ${path}, and ${problem}`, `mkdir -p ${path} && chown "$(id -u)" ${path}, as root`);
  }
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  const own = process.getuid?.() ?? stats.uid;
  // Root may inspect the directories of the daemon's user.
  const found = `${path}, mode ${mode}${own === stats.uid ? '' : `, of user ${stats.uid}`}`;
  if (own !== stats.uid && own !== 0)
    return wrong(name, `${found}, and this is user ${own}`, 'run the command as the user of the daemon');
  if (use === 'private') return (stats.mode & 0o077) === 0 ? ok(name, found) : wrong(name, found, `chmod 0700 ${path}`);
  const advice = unshared(path);
  return advice === null ? ok(name, found) : { ...ok(name, `${found}: not shared with a group`), advice };
}

/** Returns why a directory cannot be created; null if it can. */
function cannotMake(path: string): string | null {
  const standing = nearestDirectory(path);
  if (standing === null) return `a part of its path cannot be entered, or is not a directory`;
  try {
    accessSync(standing, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `it cannot be created in ${standing}: ${reasonOf(error)}`;
  }
}

const door = 'storefront interface';

/**
 * Checks that a storefront can reach the storefront interface: by the group of the mirror's directory, or with a token
 * over TCP.
 */
export function storefrontDoor({ config, secrets }: LoadedConfig): Check {
  const { listen } = config.storefront;
  if (listen === null)
    return skipped(door, 'storefront.listen is not set: storefronts need admin.listen for live checks and orders');
  if (!listen.startsWith('unix:'))
    return ok(door, `${listen}, with the token ${secrets.storefront_token?.fingerprint ?? '(missing)'}`);
  const socket = resolve(listen.slice('unix:'.length));
  const directory = dirname(socket);
  const place = statOf(directory);
  // It is created at the first start, with the mirror.
  if (place === null && directory === dirname(resolve(config.mirror.path)))
    return skipped(door, `${directory} will be created at the first start`);
  if (place === null || !place.isDirectory())
    return wrong(door, `there is no directory ${directory} for its socket`, `create it, or choose another socket`);
  if ((place.mode & 0o011) === 0)
    return wrong(
      door,
      `nobody but its owner may enter ${directory}`,
      `chmod g+x ${directory}, or put the socket beside the mirror`,
    );
  const there = statOf(socket);
  if (there === null) return ok(door, `${listen}: exists while a daemon runs`);
  if (!there.isSocket()) return wrong(door, `${socket} is not a socket`, 'choose another in storefront.listen');
  if ((there.mode & 0o060) !== 0o060)
    return wrong(door, `its group may not connect to ${socket}`, 'restart the daemon, which creates it again');
  return ok(door, `${listen}, for the group ${there.gid}`);
}
