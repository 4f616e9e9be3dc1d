import { readFileSync } from 'node:fs';

/** What a traced process did to its files, and what it told its callers, in order. */
export type Operation =
  | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  | { readonly kind: 'sync'; readonly path: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'acknowledged'; readonly id: number };

/** How strace has to be asked, so that its output can be read here. */
export function tracing(output: string): string[] {
  const calls = 'read,write,writev,pwrite64,ftruncate,fsync,fdatasync,unlink';
  return ['strace', '-f', '-qq', '--seccomp-bpf', '-xx', '-yy', '-s', '200000', '-e', `trace=${calls}`, '-o', output];
}

/**
 * Reads a trace: the writes to files whose path starts with `path`, and the answers 200 to deliveries that carry
 * their number. The shared-memory index is left out, as a power cut leaves it out.
 */
export function readTrace(file: string, path: string): Operation[] {
  const operations: Operation[] = [];
  /** What came over each connection since its last answer: a delivery may come in several reads. */
  const heard = new Map<string, string>();
  for (const { call, target, rest } of callsIn(readFileSync(file, 'latin1'))) {
    if (target.startsWith('TCP:')) {
      const data = textOf(rest);
      if (call === 'read') heard.set(target, (heard.get(target) ?? '') + data);
      if (call === 'read' || !data.includes('HTTP/1.1 200 ')) continue;
      const id = /"id":(\d+)/.exec(heard.get(target) ?? '')?.[1];
      heard.delete(target);
      if (id !== undefined) operations.push({ kind: 'acknowledged', id: Number(id) });
      continue;
    }
    const name = Buffer.from(target.replaceAll('\\x', ''), 'hex').toString();
    if (!name.startsWith(path) || name.endsWith('-shm')) continue;
    if (call === 'unlink') operations.push({ kind: 'remove', path: name });
    if (call === 'fsync' || call === 'fdatasync') operations.push({ kind: 'sync', path: name });
    if (call === 'ftruncate') operations.push({ kind: 'truncate', path: name, size: Number(rest.split(', ')[1]) });
    if (call === 'pwrite64') {
      const offset = Number(rest.split(', ').at(-1));
      operations.push({ kind: 'write', path: name, offset, bytes: Buffer.from(textOf(rest), 'latin1') });
    }
  }
  return operations;
}

/** Successful calls in the order in which they ended; one that another thread interrupted stands on two lines. */
function* callsIn(trace: string): Generator<{ call: string; target: string; rest: string }> {
  const begun = new Map<string, string>();
  for (const line of trace.split('\n')) {
    const [, pid = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith(' <unfinished ...>')) {
      begun.set(pid, text.slice(0, -' <unfinished ...>'.length));
      continue;
    }
    const whole = text.replace(/^<\.\.\. \w+ resumed>/, () => begun.get(pid) ?? '');
    const [, removed] = /^unlink\("([^"]*)"\) += 0$/.exec(whole) ?? [];
    if (removed !== undefined) yield { call: 'unlink', target: removed, rest: '' };
    const [, call, target, rest] = /^(\w+)\(\d+<((?:->|[^>])*)>(.*)\) += \d+$/.exec(whole) ?? [];
    if (call !== undefined && target !== undefined && rest !== undefined) yield { call, target, rest };
  }
}

/** The bytes between the quotes, all of them written as \xNN. */
function textOf(rest: string): string {
  const quoted = [...rest.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => hex.replaceAll('\\x', ''));
  return Buffer.from(quoted.join(''), 'hex').toString('latin1');
}
