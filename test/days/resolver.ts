import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a name is answered: with our own host, not at all, or with an IPv6 address behind which nobody listens. */
export type Answering = 'usual' | 'nothing' | 'only IPv6';

/** Of this process alone, so that two harnesses can run on one machine. */
const address = `127.30.${(process.pid >> 8) & 255}.${process.pid & 255}`;

/** A name server of our own, which this process and its children ask instead of the machine's: needs a mount namespace. */
export class Resolver implements Disposable {
  readonly #socket = createSocket('udp4');
  readonly #names = new Map<string, Answering>();

  async listen(directory: string): Promise<void> {
    this.#socket.on('message', (query, { port, address: from }) => {
      const answer = this.#answer(query);
      if (answer !== null) this.#socket.send(answer, port, from);
    });
    await new Promise<void>((resolve, reject) => {
      this.#socket.once('error', reject).bind(53, address, resolve);
    });
    const file = join(directory, 'resolv.conf');
    writeFileSync(file, `nameserver ${address}\n`, { mode: 0o644 });
    const { status, stderr } = spawnSync('mount', ['--bind', file, '/etc/resolv.conf'], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`resolv.conf: ${stderr}`);
  }

  /** Makes a name known, or changes how it is answered. */
  set(name: string, answering: Answering): void {
    this.#names.set(name, answering);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #answer(query: Buffer): Buffer | null {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = query.readUInt16BE(at + 1);
    const answering = this.#names.get(labels.join('.').toLowerCase());
    if (answering === 'nothing') return null;
    const [a, aaaa] = [1, 28];
    const data =
      answering === 'usual' && type === a
        ? Buffer.from([127, 0, 0, 1])
        : answering === 'only IPv6' && type === aaaa
          ? Buffer.from([...new Array<number>(15).fill(0), 1])
          : null;
    const header = Buffer.from(query.subarray(0, 12));
    // An answer with recursion, to one question; a name that nobody has set does not exist.
    header.writeUInt16BE(answering === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(data === null ? 0 : 1, 6);
    header.writeUInt32BE(0, 8);
    const question = query.subarray(12, at + 5);
    if (data === null) return Buffer.concat([header, question]);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(1, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([header, question, record, data]);
  }
}
