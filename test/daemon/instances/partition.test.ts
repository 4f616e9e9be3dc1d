import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../fakes/free-port.ts';
import { needs } from '../../fakes/needs.ts';
import { network } from '../../fakes/network.ts';
import { startPostgres } from '../../fakes/start-postgres.ts';
import { appliedIn, missingInDatabase } from './found.ts';
import { post, posting } from './posting.ts';
import { ceiling, patient, sharedNow, stage } from './stage.ts';

describe('a leader whom the network cuts off from PostgreSQL alone', needs('postgres', 'iptables', 'time'), () => {
  it('is silent within three seconds while the service still answers it, and follows who led meanwhile', async () => {
    using wire = network();
    const port = await freePort();
    const settings = [`listen_addresses=${wire.here}`, `port=${port}`];
    using server = startPostgres({ settings, trusted: [`${wire.there}/32`] });
    const url = `postgres://owner@/postgres?host=${encodeURIComponent(server.directory)}&port=${port}`;
    await using at = await stage({
      server: { ...server, url },
      apart: { ...wire, database_url: `postgres://owner@${wire.here}:${port}/postgres` },
    });
    const [a, b] = at.instances;
    a.start();
    expect((await at.leading()).name).toBe('a');
    b.start();
    await b.standsBy();
    await at.addressed();
    const posts = posting(at.instances);
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(20);

    const [cut_at, starved] = [sharedNow(), b.starved()];
    wire.drop(port);
    const took = (await at.firstCall(b, cut_at)).at - cut_at;
    const own = took - (b.starved() - starved);
    // Trusted for lease less margin since its last renewal, and one call under way.
    const last = Math.max(...a.sent().map(({ at }) => at)) - cut_at;
    const answered = await promisify(execFile)(wire.within[0] ?? '', [
      ...wire.within.slice(1),
      process.execPath,
      '-e',
      `fetch('${at.doors.a}').then(({ status }) => console.log(status))`,
    ]);
    // Once what others have waited for is given up, and its own statement too.
    const refused = await post(a, 0, 60_000);
    expect({ answered: answered.stdout.trim(), refused }).toEqual({ answered: '404', refused: 503 });
    expect(last).toBeLessThan(3500);
    expect(own).toBeLessThan(10_000);

    const mended_at = sharedNow();
    wire.mend(port);
    await a.standsBy();
    await posts.stop();
    expect(a.sent().filter((call) => call.at > mended_at)).toEqual([]);
    expect(await missingInDatabase(at.database, posts.acknowledged)).toEqual([]);
    const [stored] = await at.database.query<{ last: number }>('SELECT last FROM _numbering');
    await expect.poll(() => appliedIn(b), patient).toEqual({ last: stored?.last, waiting: 0 });
    expect(at.mostInASecond()).toBeLessThanOrEqual(ceiling);
    const [silent_ms, took_ms, whole_ms] = [last, took, sharedNow() - mended_at].map(Math.round);
    process.stdout.write(
      `${JSON.stringify({ silent_ms, took_ms, own_ms: Math.round(own), follows_after_ms: whole_ms, acknowledged: posts.acknowledged.length, answers: [...posts.answers] })}\n`,
    );
  });
});
