import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ran } from '../fakes/run-cli.ts';
import { announced, ask, callback, happens, receiving, Stage } from './stage.ts';

const { outputs } = JSON.parse(readFileSync(join(import.meta.dirname, '../../schema/contract.json'), 'utf8')) as {
  outputs: Readonly<Record<string, readonly string[]>>;
};

/** A command line, its exit codes, and the name of its fields in the contract where it prints JSON. */
type Expected = readonly [line: string, codes: readonly number[], fields?: string];

const stack = new AsyncDisposableStack();
let stage: Stage;
/** Replace ID, DATE and BACKUP of a command line. */
const words: Record<string, string> = {};

const typed = (line: string) => line.split(' ').map((word) => words[word] ?? word);
const error = /^Error: [^\n]+\n(?:Try: [^\n]+\n)?$/;

/** Runs each, and returns what is otherwise than expected. */
async function wrong(expected: readonly Expected[]): Promise<string[]> {
  const found: string[] = [];
  // Two at once: most of a command is its start.
  const todo = expected.values();
  const work = async () => {
    for (const [line, codes, fields] of todo) {
      const json = fields === undefined ? [] : ['--json'];
      found.push(
        ...problems(await stage.run(...typed(line), ...json), codes, fields).map((each) => `${line}: ${each}`),
      );
    }
  };
  await Promise.all([work(), work()]);
  return found;
}

function problems({ code, stdout, stderr }: Ran, codes: readonly number[], fields?: string): string[] {
  const ended = codes.includes(code ?? -1) ? [] : [`ended with ${code}: ${stderr}`];
  if ((code ?? 2) > 1)
    return [...ended, ...(stdout === '' && error.test(stderr) ? [] : [`printed ${stdout}${stderr}`])];
  if (fields === undefined) return [...ended, ...(stdout === '' ? ['printed nothing'] : [])];
  const printed = fieldsOf(stdout);
  const promised = [...(outputs[fields] ?? [])].sort().join();
  return [...ended, ...(printed === promised ? [] : [`printed ${printed} for ${promised}`])];
}

/** Returns the members of a JSON answer, of the first element of a list, or of the first line where each is JSON. */
function fieldsOf(text: string): string {
  const whole = text.startsWith('{"') ? text.split('\n', 1)[0] : text;
  const json = JSON.parse(whole ?? '') as object;
  return Object.keys(Array.isArray(json) ? (json[0] as object) : json)
    .sort()
    .join();
}

beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '3', '--hold', '1s'] }));
  stage.configure({ ...(await receiving(stage)), rows: { publish: true } });
  await stage.filled();
  expect((await stage.run('subscription', 'apply')).code).toBe(0);
  const address = await callback(stage);
  const [id = 0] = await stage.service.get<number[]>('/sandbox/products');
  if (address === null) throw new Error('nothing is subscribed');
  const body = announced(id, { change_type: 'checkout_enabled' });
  expect((await ask(address.origin, address.pathname, { body })).status).toBe(200);
  const day = (await stage.service.shown(id)).days.filter(({ sold_out }) => !sold_out)[5];
  Object.assign(words, { ID: String(id), DATE: day?.date, BACKUP: join(stage.directory, 'backup') });
});
afterAll(() => stack.disposeAsync());

// Of many processes on a slow machine.
const timeout = 600_000;

describe('each command ends with a code that its help names, and prints JSON with the fields of the contract', {
  timeout,
}, () => {
  it('that looks, while a daemon runs', async () => {
    const expected: Expected[] = [
      ['status', [0, 1], 'status'],
      ['explain ID', [0], 'explain'],
      ['plan', [0, 1], 'plan'],
      ['notifications show 1', [0], 'notifications show'],
      ['subscription show', [0, 1], 'subscription show'],
      ['jobs', [0], 'jobs'],
      ['doctor', [0, 1], 'doctor'],
      ['probe', [0], 'probe'],
    ];
    expect(await wrong(expected)).toEqual([]);
    // Another code and another field are seen (control).
    expect(await wrong([['held list', [1], 'images audit']])).toHaveLength(2);
  });

  it('that acts, while a daemon runs', async () => {
    const expected: Expected[] = [
      ['check ID --date DATE', [0], 'check'],
      ['order confirmed ID --date DATE', [0]],
      ['subscription apply', [0], 'subscription apply'],
      ['subscription reactivate all', [0]],
      ['resync --all --dry-run', [0], 'resync --dry-run'],
      ['resync --product ID --checkout --wait', [0]],
      ['jobs run retention', [0], 'jobs run'],
      ['jobs run nothing', [64]],
      ['ack snapshot-late --because nothing', [64]],
      ['repair', [75]],
    ];
    expect(await wrong(expected)).toEqual([]);
    expect(await wrong([['reload', [0], 'reload']])).toEqual([]);
  });

  it('that goes on until it is stopped: with 0, in order', async () => {
    const copy = join(stage.directory, 'copy.db');
    await using follow = stage.start('follow', copy, '--from', `unix:${stage.storefront}`);
    await using changes = stage.start('changes', '--follow', '--after', '0', '--json');
    await changes.said(/"product_added"/);
    await happens(() => readdirSync(stage.directory), (names) => names.includes('copy.db')); // biome-ignore format: a wait
    const ends = await Promise.all([follow.end(), changes.end()]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, '']));
    const seqs = ends[1].stdout.trim().split('\n').map((line) => (JSON.parse(line) as { seq: number }).seq); // biome-ignore format: a list
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });

  it('that looks, while none runs', async () => {
    expect((await stage.ended())?.code).toBe(0);
    const expected: Expected[] = [
      ['status', [0, 1], 'status'],
      ['explain ID --date DATE', [0], 'explain --date'],
      ['plan --declaration', [0], 'plan --declaration'],
      ['report --week', [0], 'report --week'],
      ['check ID --date DATE', [0], 'check'],
      ['images audit', [0], 'images audit'],
      ['notifications list', [0], 'notifications list'],
      ['notifications replay --since 1h --dry-run', [0]],
      ['subscription list', [0], 'subscription list'],
      ['changes', [0], 'changes'],
      ['jobs', [75]],
      ['reload', [75]],
      ['ack snapshot-late --because nothing', [75]],
      ['doctor --reader', [0, 1], 'doctor --reader'],
      ['bugreport', [0]],
      ['database check', [78]],
      ['config check', [0]],
      ['config show', [0]],
      ['completion bash', [0]],
      ['service install --print', [0]],
    ];
    expect(await wrong(expected)).toEqual([]);
  });

  it('that acts, while none runs', async () => {
    // These take the files for themselves, one after the other.
    const alone: Expected[] = [
      ['resync --product ID --checkout --wait', [0], 'resync --wait'],
      ['order failed ID --date DATE', [0]],
      ['upgrade --check', [0], 'upgrade --check'],
      ['backup', [0], 'backup'],
      ['backup --list', [0], 'backup --list'],
      ['repair', [0], 'repair'],
    ];
    for (const each of alone) expect(await wrong([each])).toEqual([]);
    const backups = join(stage.directory, 'data/state/backup');
    words.BACKUP = join(backups, readdirSync(backups)[0] ?? '');
    expect(await wrong([['restore BACKUP', [0], 'restore']])).toEqual([]);
  });
});
