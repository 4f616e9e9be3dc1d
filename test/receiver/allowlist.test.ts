import { describe, expect, it } from 'vitest';
import { callerOf, couldOnlyMatchProxy, isAllowed, networksOf, unixPeer } from '../../src/receiver/allowlist.ts';

const allow = networksOf(['198.51.100.7', '203.0.113.0/28', '2001:db8:a::/48', '2001:db8:b::1']);
const trusted = networksOf(['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);

/** Who calls, and whether that is allowed. */
function check(peer: string, forwarded: readonly string[], caller: string | null, allowed: boolean): void {
  const found = callerOf(peer, forwarded, trusted);
  expect({ found, allowed: isAllowed(found, allow) }, `${peer} ${JSON.stringify(forwarded)}`).toEqual({
    found: caller,
    allowed,
  });
}

describe('the caller', () => {
  it('is the peer where that is no trusted proxy, whatever it claims', () => {
    check('198.51.100.7', [], '198.51.100.7', true);
    check('::ffff:198.51.100.7', [], '198.51.100.7', true);
    check('203.0.113.15', [], '203.0.113.15', true);
    check('203.0.113.16', [], '203.0.113.16', false);
    check('2001:0DB8:000a::9', [], '2001:db8:a::9', true);
    check('192.0.2.1', ['198.51.100.7'], '192.0.2.1', false);
    check('192.0.2.1', ['198.51.100.7, 10.0.0.1'], '192.0.2.1', false);
    check('', [], null, false);
  });

  it('is what the nearest proxy that is not trusted, or nobody else, has seen', () => {
    check('10.0.0.1', ['198.51.100.7'], '198.51.100.7', true);
    check('10.0.0.1', ['198.51.100.7, 10.9.9.9,fd00::1'], '198.51.100.7', true);
    check('10.0.0.1', ['198.51.100.7', '10.9.9.9'], '198.51.100.7', true);
    check('::ffff:10.0.0.1', ['::ffff:198.51.100.7'], '198.51.100.7', true);
    check('fd00::2', ['  198.51.100.7:4711  '], '198.51.100.7', true);
    check('10.0.0.1', ['[2001:db8:b::1]:443'], '2001:db8:b::1', true);
    check('10.0.0.1', ['[2001:db8:b::1]'], '2001:db8:b::1', true);
    check(unixPeer, ['198.51.100.7'], '198.51.100.7', true);
    check(unixPeer, [], unixPeer, false);
    check('10.0.0.1', [], '10.0.0.1', false);
  });

  it('is not forged: fifteen ways that are tried', () => {
    const real = '192.0.2.66';
    const vectors: readonly (readonly [forwarded: readonly string[], caller: string | null])[] = [
      [[`198.51.100.7, ${real}`], real],
      [['198.51.100.7', real], real],
      [[`198.51.100.7, ${real}`, '10.0.0.2'], real],
      [[`::ffff:198.51.100.7, ::ffff:${real}`], real],
      [[`198.51.100.7, ${real}:80`], real],
      [[`198.51.100.7 ,\t${real} `], real],
      [['198.51.100.7, fe80::1%eth0'], 'fe80::1'],
      [['198.51.100.7%10.0.0.1'], null],
      [[''], null],
      [['198.51.100.7, '], null],
      [['198.51.100.7,,'], null],
      [['198.51.100.7, unknown'], null],
      [['198.51.100.7, unknown, 10.0.0.2'], null],
      [['"198.51.100.7"'], null],
      [['198.51.100.7;10.0.0.2'], null],
      [['198.51.100.07'], null],
      [['0xc6336407'], null],
      [['198.51.100.7:99:99'], null],
      [['[198.51.100.7]x'], null],
      [['for=198.51.100.7'], null],
      [['198.51.100.7 198.51.100.7'], null],
      [[`198.51.100.7, ::ffff:c000:242`], real],
    ];
    for (const [forwarded, caller] of vectors) check('10.0.0.1', forwarded, caller, false);
    expect(vectors.length).toBeGreaterThanOrEqual(15);
  });
});

describe('a list', () => {
  it('allows everybody where it is empty', () => {
    for (const caller of ['192.0.2.1', unixPeer, null]) expect(isAllowed(caller, networksOf([]))).toBe(true);
  });

  it('takes IPv4 written as IPv6, and networks named by one of their addresses', () => {
    const odd = networksOf(['::ffff:192.0.2.9', '::ffff:198.51.100.0/120', '203.0.113.77/24', 'fe80::1']);
    for (const [address, has] of [
      ['192.0.2.9', true],
      ['198.51.100.200', true],
      ['198.51.101.1', false],
      ['203.0.113.1', true],
      ['fe80::1', true],
      ['fe80::2', false],
    ] as const)
      expect(odd.has(address), address).toBe(has);
  });

  it('that could only ever match the proxy is a problem to be told at the start', () => {
    const behind = {
      listen: '127.0.0.1:8480',
      public_url: 'https://hooks.example.com/x',
      allow: ['198.51.100.7'],
      trusted_proxies: [],
    };
    expect(couldOnlyMatchProxy(behind)?.message).toMatch(/could only ever match the proxy/);
    for (const fine of [
      { allow: [] },
      { trusted_proxies: ['127.0.0.1'] },
      { public_url: null },
      { public_url: 'http://hooks.example.com' },
      { listen: 'unix:/run/receiver.sock' },
    ])
      expect(couldOnlyMatchProxy({ ...behind, ...fine }), JSON.stringify(fine)).toBeNull();
  });
});
