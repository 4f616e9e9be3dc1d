import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config, LoadedConfig } from '../../config/load.ts';
import { lowBelow } from '../../files/disk-space.rules.ts';
import type { ZoneReleases } from '../../files/zone-files.ts';
import { type Clock, DeadlineExceeded } from '../../kernel/clock.ts';
import { CataloguedError } from '../../kernel/errors.ts';
import { counted } from '../../kernel/format.ts';
import { sqliteVersion, walSizeOf } from '../../kernel/sqlite/database-file.ts';
import { type DifferingZone, zonesText } from '../../kernel/time/zone-releases.ts';
import { identifier } from '../../kernel/values/identifier.ts';
import { readSigningKey } from '../../push/signing-key.rules.ts';
import type { ManagedSubscriptions } from '../../push/subscriptions.ts';
import { couldOnlyMatchProxy, unreachableCallback } from '../../receiver/allowlist.ts';
import { isClockOff } from '../../schedule/clock-doubt.rules.ts';
import { keyOf, nameOf, type OptionalPath, type RefusalOf } from '../../schedule/offer.rules.ts';
import type { Question } from '../../service/adapter.rules.ts';
import { failed, type Outcome } from '../../service/outcome.ts';
import type { RawAnswer, RawReads } from '../../service/raw-reads.ts';
import { todoOf } from '../conditions/table.rules.ts';
import { type Check, check, ok, olderThan, skipped, wrong } from './check.ts';
import { directoryCheck, fileChecks, storefrontDoor } from './files.ts';

/** A sender of a delivery, and whether `receiver.allow` would accept it. */
export interface Peer {
  readonly peer: string;
  readonly received_at: number;
  readonly allowed: boolean;
}

/** Probes of service and receiver: the daemon's, or those of a command that holds the lock. */
export interface ServiceProbes {
  readonly config: Config;
  readonly probe: (signal: AbortSignal) => Promise<Outcome>;
  /** Milliseconds; null if the service has sent no Date. */
  readonly offset: () => number | null;
  readonly subscriptions: ManagedSubscriptions;
  /** Returns the paths that the service is known not to have, or not to answer to this key. */
  readonly notOffered: () => readonly { readonly path: OptionalPath; readonly refusal: RefusalOf }[];
  /** Returns the senders of the last deliveries, newest first; null if no receiver runs here. */
  readonly peers: (() => readonly Peer[]) | null;
}

const megabyte = 1024 * 1024;
/**
 * SQLite version that is needed: older ones can corrupt a file when two connections write or checkpoint at once.
 */
const sqliteNeeded = [3, 51, 3];

/** Returns the checks of the secrets, all of which could be read. */
export function credentialChecks(loaded: LoadedConfig): Check[] {
  const { config, secrets } = loaded;
  return [ok('credentials', fingerprintsOf(secrets)), signingKey(config, secrets.signing_key), storefrontDoor(loaded)];
}

/** Replaces those checks if this user must not read secrets that the running daemon has read. */
export const withheldCredentials: readonly Check[] = [
  skipped('credentials', 'this user cannot read them all; the running daemon can'),
];

/** Returns the checks that need neither daemon nor service. */
export function localChecks(loaded: LoadedConfig, credentials: readonly Check[]): Check[] {
  const { config, warnings, file } = loaded;
  const { path, state_dir } = config.mirror;
  return [
    ok('configuration', `${file ?? 'the environment'} is valid`),
    ...warnings.map((warning) => ok('configuration warning', warning)),
    ...credentials,
    adapterCheck('adapter', loaded.adapter),
    directoryCheck('mirror directory', dirname(path), 'shared'),
    directoryCheck('state directory', state_dir, 'private'),
    ...fileChecks(config),
    disk(path, state_dir),
    sqlite(),
    ...receiverRule(config),
  ];
}

/** Names the adapter and its hash, or says why it cannot be used. */
export function adapterCheck(name: string, load: LoadedConfig['adapter']): Check {
  try {
    const { file, hash } = load();
    return ok(name, file === null ? 'the one that is built in' : `${file}, ${hash}`);
  } catch (error) {
    if (!(error instanceof CataloguedError)) throw error;
    const { message, details, hint } = error;
    const todo = 'correct the module, or set service.adapter: null';
    return details.length === 0 ? wrong(name, message, hint ?? todo) : wrong(name, details.join('; '), todo);
  }
}

/**
 * Returns the checks that need the service and a running receiver. Calls the service twice or more. The receiver is tested
 * meanwhile: neither waits for the other.
 */
export async function serviceChecks(probes: ServiceProbes, signal: AbortSignal): Promise<Check[]> {
  const [service, ofReceiver] = await Promise.all([serviceItself(probes, signal), receiver(probes, signal)]);
  return [...service, ...ofReceiver];
}

async function serviceItself(probes: ServiceProbes, signal: AbortSignal): Promise<Check[]> {
  const service = reachability(await probes.probe(signal));
  const subscriptions =
    service.verdict === 'ok'
      ? await declared(probes.subscriptions, signal)
      : skipped('subscriptions', 'the service cannot be asked');
  return [service, ...endpoints(probes.notOffered()), clock(probes.offset()), subscriptions];
}

/** Milliseconds for which the first questions wait for the service in all. */
const firstAnswersMs = 10_000;

/** The way to a service that no daemon has asked yet. */
export interface FirstProbes {
  readonly config: Config;
  readonly raw: RawReads;
  readonly clock: Clock;
  readonly offset: () => number | null;
}

/** Returns the checks of a service before the first start, within ten seconds: address and key, clock, one product. */
export async function firstServiceChecks(probes: FirstProbes, signal: AbortSignal): Promise<Check[]> {
  const { config, raw, clock: time, offset } = probes;
  const [language, currency] = [config.service.languages[0], config.service.currencies[0]];
  using patience = time.deadline(firstAnswersMs, signal);
  const ask = async (question: Question): Promise<Pick<RawAnswer, 'outcome' | 'read'>> => {
    try {
      const { outcome, read } = await raw.ask(question, patience.signal);
      return read !== null && 'unusable' in read
        ? { outcome: failed('wrong-shape', read.unusable), read: null }
        : { outcome, read };
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      return { outcome: failed('deadline', `no answer within ${firstAnswersMs / 1000} s`), read: null };
    }
  };
  const page = { kind: 'products', page: 1, after: null, page_size: 1, language, currency, ordered: false } as const;
  const list = await ask(page);
  const checks = [reachability(list.outcome), clock(offset())];
  const [first] = list.read !== null && 'rows' in list.read ? list.read.rows : [];
  const product_id = identifier(first?.id);
  if (list.outcome.kind !== 'answer') return checks;
  if (product_id === null)
    return [...checks, wrong('one product', 'the list has no row with an id', 'catalogued probe')];
  const { outcome } = await ask({ kind: 'product', product_id, language, currency });
  const what = `${product_id} (${language}, ${currency})`;
  return [
    ...checks,
    outcome.kind === 'answer'
      ? ok('one product', `${what} can be read`)
      : wrong('one product', `${what} cannot be read: ${reachability(outcome).found}`, 'catalogued probe'),
  ];
}

/** Returns the checks for an unusable configuration or secret, without which nothing else can be checked. */
export function unusable(error: CataloguedError): Check[] {
  const name = error.code === 'permission' ? 'credentials' : 'configuration';
  const problems = error.details.length === 0 ? [error.message] : error.details;
  const advice = error.hint ?? 'catalogued config check';
  // The advice about all of them is shown once, below the last.
  return problems.map((problem, index) => ({
    ...wrong(name, problem, advice),
    advice: index < problems.length - 1 ? null : advice,
  }));
}

function fingerprintsOf(secrets: LoadedConfig['secrets']): string {
  return Object.entries(secrets)
    .map(([name, secret]) => `${name} ${secret?.fingerprint ?? 'not set'}`)
    .join(', ');
}

function signingKey({ signing, subscriptions }: Config, secret: LoadedConfig['secrets']['signing_key']): Check {
  const name = 'signing key';
  if (signing.body === 'json') return skipped(name, 'not needed: signing.body is json');
  if (secret === null)
    return subscriptions.length === 0
      ? skipped(name, 'not set, and no subscription is declared')
      : wrong(name, 'not set, and subscriptions are declared', 'set signing.key_file, or CATALOGUED_SIGNING_KEY');
  const key = readSigningKey(secret.reveal());
  return 'problem' in key
    ? wrong(name, key.problem, 'set signing.key_file to an RSA private key')
    : ok(name, `RS256; its public key is ${key.fingerprint}, which the service must know`);
}

function disk(path: string, state_dir: string): Check {
  const spaces = [dirname(path), state_dir]
    .filter((each) => statSync(each, { throwIfNoEntry: false }) !== undefined)
    .map((each) => statfsSync(each));
  if (spaces.length === 0) return skipped('disk space', 'the directories do not exist yet');
  const free = Math.min(...spaces.map(({ bavail, bsize }) => bavail * bsize));
  const needed = Math.max(...spaces.map(({ blocks, bsize }) => lowBelow(blocks * bsize, walSizeOf(path))));
  const found = `${Math.floor(free / megabyte)} MiB free`;
  return check('disk space', free >= needed, {
    right: found,
    wrong: `${found}, less than ${Math.ceil(needed / megabyte)} MiB`,
    advice: todoOf('disk-low'),
  });
}

function sqlite(): Check {
  const version = sqliteVersion();
  return check('SQLite', !olderThan(version, sqliteNeeded), {
    right: version,
    wrong: `${version}, older than ${sqliteNeeded.join('.')}`,
    advice: 'run npm ci, which installs a newer one',
  });
}

function receiverRule({ receiver, subscriptions, service }: Config): Check[] {
  const { public_url, allow, listen } = receiver;
  const unreachable = unreachableCallback(public_url, service.base_url);
  const address =
    public_url === null
      ? subscriptions.length === 0
        ? skipped('public address', 'receiver.public_url is not set, and no subscription is declared')
        : wrong(
            'public address',
            'receiver.public_url is not set',
            'set it to the address at which the service reaches the receiver',
          )
      : unreachable !== null
        ? wrong(
            'public address',
            `${public_url}: ${unreachable}`,
            'set it to a public address, such as that of a TLS proxy in front of the receiver',
          )
        : check('public address', isPrivate(public_url), {
            right: `${public_url}, received at ${listen}`,
            wrong: `${public_url} is not encrypted: the secret callback address crosses the network in plain text`,
            advice: 'put a TLS proxy in front of the receiver',
          });
  const problem = couldOnlyMatchProxy(receiver);
  const rule =
    allow.length === 0
      ? skipped(
          'allow-list',
          'receiver.allow is empty: any host may post; only the secret callback address protects the receiver',
        )
      : problem === null
        ? ok('allow-list', counted(allow.length, 'address or network', 'addresses and networks'))
        : wrong('allow-list', problem.message, problem.hint);
  return [address, rule];
}

/** Returns whether traffic to the URL is encrypted or never leaves this machine. */
function isPrivate(public_url: string): boolean {
  const { protocol, hostname } = new URL(public_url);
  return protocol === 'https:' || /^(localhost|\[::1\]|127\.[\d.]+)$/.test(hostname);
}

function reachability(outcome: Outcome): Check {
  switch (outcome.kind) {
    case 'answer':
      return ok('service', 'it answers, and accepts the key');
    case 'throttled':
      return wrong('service', `it throttles (${outcome.status})`, 'wait, or lower budget.requests_per_second');
    case 'refused':
      if (outcome.status === 404)
        return wrong(
          'service',
          `it has no such path (404): ${outcome.message}`,
          'compare service.base_url and service.profile.paths',
        );
      return wrong('service', `it refuses (${outcome.status}): ${outcome.message}`, todoOf('key-refused'));
    default:
      return wrong('service', outcome.message, todoOf('service-unreachable'));
  }
}

/** Returns a check about endpoints that the service lacks or refuses to this key: the mirror is filled without them. */
function endpoints(missing: ReturnType<ServiceProbes['notOffered']>): Check[] {
  if (missing.length === 0) return [];
  const said = missing.map(
    ({ path, refusal }) =>
      `${refusal === 'key' ? 'this key may not read' : 'it does not offer'} ${nameOf[path]} (${keyOf[path]})`,
  );
  return [ok('endpoints', `${said.join(', ')}: asked again by itself`)];
}

function clock(offset: number | null): Check {
  if (offset === null) return skipped('clock', 'the service has sent no Date');
  const seconds = `${(Math.abs(offset) / 1000).toFixed(1)} s ${offset > 0 ? 'behind' : 'ahead of'} the service`;
  return check('clock', !isClockOff(offset), {
    right: seconds,
    wrong: seconds,
    advice: todoOf('clock-doubted'),
  });
}

/** Names the releases of the time zones, and the zones in use in which they differ. */
export function zoneCheck(releases: ZoneReleases, differing: readonly DifferingZone[]): Check {
  const name = 'time zones';
  const { directory, found, runtime, machine } = releases;
  if (!found)
    return {
      ...skipped(name, `no zone files in ${directory}: the rules of Node (${runtime}) are used`),
      advice: 'install them, so that the newer rules of both are used: apt-get install tzdata',
    };
  return check(name, differing.length === 0, {
    right: `Node has ${runtime}, the zone files have ${machine ?? 'no release'}: no zone in use differs`,
    wrong: zonesText(releases, differing),
    advice: todoOf('zone-rules-differ'),
  });
}

async function declared(managed: ManagedSubscriptions, signal: AbortSignal): Promise<Check> {
  const name = 'subscriptions';
  if ('why' in managed) {
    const { message, hint } = managed.why;
    return managed.why.code === 'no-subscription'
      ? skipped(name, message)
      : wrong(name, message, hint ?? 'catalogued config check');
  }
  const compared = await managed.work.compare(null, signal);
  const failures = compared.filter(({ failure }) => failure !== null);
  const different = compared.filter(({ differences }) => differences.length > 0);
  if (failures.length > 0)
    return wrong(
      name,
      failures.map(({ subscription_id, failure }) => `${subscription_id}: ${failure}`).join('; '),
      'catalogued subscription show',
    );
  if (compared.length === 0) return skipped(name, 'the product list has not been read yet');
  return check(name, different.length === 0, {
    right: `${compared.length} as declared`,
    wrong: different
      .map(({ subscription_id, differences, last_attempt }) =>
        [`${subscription_id}: ${differences.join(', ')}`, ...(last_attempt === null ? [] : [last_attempt])].join('; '),
      )
      .join('; '),
    advice: 'catalogued subscription apply --dry-run, then without --dry-run; reactivate degraded ones',
  });
}

async function receiver({ peers, subscriptions }: ServiceProbes, signal: AbortSignal): Promise<Check[]> {
  if ('why' in subscriptions) return [skipped('receiver', subscriptions.why.message)];
  if (peers === null) return [skipped('receiver', 'no daemon runs: start it')];
  const test = publicAddress(await subscriptions.work.selfTest(signal));
  const last = peers();
  const refused = last.filter(({ allowed }) => !allowed);
  const shown = [...new Set((refused.length > 0 ? refused : last).map(({ peer }) => peer))].join(', ');
  const deliveries =
    last.length === 0
      ? skipped('last deliveries', 'none yet')
      : check('last deliveries', refused.length === 0, {
          right: `from ${shown}: allowed`,
          wrong: `from ${shown}: receiver.allow would refuse them`,
          advice: 'if that is a proxy, add it to receiver.trusted_proxies; if it is the service, to receiver.allow',
        });
  return [test, deliveries];
}

function publicAddress({
  result,
  message,
  answered = false,
}: {
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly message: string;
  readonly answered?: boolean;
}): Check {
  const name = 'receiver';
  if (result === 'passed') return ok(name, `reached through its public address: ${message}`);
  if (answered)
    return wrong(name, `not reached through its public address: ${message}`, todoOf('receiver-unreachable'));
  return {
    ...skipped(name, `cannot tell: from here ${message}`),
    advice: `try from outside: some networks do not let a machine reach its own public address. ${todoOf('receiver-unreachable')}`,
  };
}
