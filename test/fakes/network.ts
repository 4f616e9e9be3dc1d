import { execFileSync } from 'node:child_process';

/** A host of a test's own, as far as the network goes: an address here and one there, and a wire between. */
export interface Network extends Disposable {
  readonly here: string;
  readonly there: string;
  /** What a command begins with that runs there. */
  readonly within: readonly string[];
  /** From now on nothing gets through between there and a port here: no packet is answered, nor refused. */
  drop(port: number): void;
  mend(port: number): void;
}

/** Makes a network namespace. The addresses are of those that are for tests of networks (RFC 2544). */
export function network(): Network {
  const name = `catalogued-${process.pid}`;
  const subnet = `198.18.${process.pid % 256}`;
  const [here, there] = [`${subnet}.1`, `${subnet}.2`];
  // As long as a name may be.
  const [near, far] = ['n', 'f'].map((end) => `ct${end}${process.pid}`) as [string, string];
  const within = ['ip', 'netns', 'exec', name];
  const run = (line: string) => {
    const [program = '', ...args] = line.split(' ');
    execFileSync(program, args, { stdio: 'pipe' });
  };
  const there_runs = (line: string) => run([...within, line].join(' '));
  run(`ip netns add ${name}`);
  const remove = () => run(`ip netns delete ${name}`);
  try {
    run(`ip link add ${near} type veth peer name ${far} netns ${name}`);
    run(`ip address add ${here}/30 dev ${near}`);
    run(`ip link set ${near} up`);
    there_runs(`ip address add ${there}/30 dev ${far}`);
    there_runs(`ip link set ${far} up`);
    there_runs('ip link set lo up');
  } catch (error) {
    remove();
    throw error;
  }
  const rules = (how: '-A' | '-D', port: number) => {
    there_runs(`iptables ${how} OUTPUT -p tcp --dport ${port} -j DROP`);
    there_runs(`iptables ${how} INPUT -p tcp --sport ${port} -j DROP`);
  };
  return {
    here,
    there,
    within,
    drop: (port) => rules('-A', port),
    mend: (port) => rules('-D', port),
    [Symbol.dispose]: remove,
  };
}
