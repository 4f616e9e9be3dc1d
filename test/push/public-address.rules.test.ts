import { describe, expect, it } from 'vitest';
import { expiryOf, unsigned } from '../../src/catalogue/signed-address.rules.ts';
import { type ImageReach, isPublicAddress, publishable, refuseUrl } from '../../src/kernel/values/public-address.ts';

describe('an address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '100.63.255.255', '100.128.0.1', '172.32.0.1', '2606:4700::1111', '2a00:1450::8a'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1', '198.18.0.1', '198.51.100.7'],
    ...['203.0.113.9', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '::', '::1', '::7f00:1'],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1'],
    ...['2002:7f00:1::', '3fff::1', 'fc00::1', 'fd12::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', 'x', ''],
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
});

describe('a URL', () => {
  const anywhere: ImageReach = { hosts: [], addresses: [] };
  const check = (url: string, reach = anywhere) => refuseUrl(url, reach)?.code ?? null;

  it.each([
    ['https://images.example.com/a.jpg', null],
    ['http://IMAGES.example.com/a.jpg', null],
    ['https://images.example.com:443/a.jpg', null],
    ['https://8.8.8.8/a.jpg', null],
    ['https://[2606:4700::1111]/a.jpg', null],
    ['https://images.example.com:8443/a.jpg', 'port'],
    ['https://8.8.8.8:22/', 'port'],
    ['https://134744072/', 'spelling'],
    ['https://images.example.com./a.jpg', 'spelling'],
    ['https://ex%61mple.com/', 'spelling'],
    ['https:/images.example.com/a.jpg', 'spelling'],
    ['https:\\\\images.example.com/a.jpg', 'spelling'],
    ['https://user@images.example.com/', 'credentials'],
    ['file:///etc/passwd', 'scheme'],
    ['data:image/png;base64,AAAA', 'scheme'],
    ['intranet', 'no-url'],
    ['https://intranet/', 'private-address'],
    ['https://printer.local/', 'private-address'],
  ])('%s: %s', (url, code) => expect(check(url)).toBe(code));

  it('is refused where hosts are listed and its own is not', () => {
    const reach = { hosts: ['Images.example.com'], addresses: [] };
    expect(check('https://images.example.com/a', reach)).toBeNull();
    expect(check('https://other.images.example.com/a', reach)).toBe('host-not-listed');
    expect(check('https://images.example.com.evil.test/a', reach)).toBe('host-not-listed');
  });

  it('of a private address passes where a test names that address, and no other', () => {
    const reach = { hosts: [], addresses: ['127.0.0.1'] };
    expect(check('http://127.0.0.1:8080/', reach)).toBeNull();
    expect(check('http://127.0.0.2:8080/', reach)).toBe('port');
    expect(check('http://127.0.0.2/', reach)).toBe('private-address');
    expect(check('http://2130706433:8080/', reach)).toBe('spelling');
    expect(check('http://[::1]:8080/', { hosts: [], addresses: ['::1'] })).toBeNull();
    expect(check('http://[::1]/', reach)).toBe('private-address');
  });
});

describe('an address that is handed on to readers', () => {
  it.each([
    ['https://images.example.com/a.jpg?w=500', true],
    ['http://images.example.com/a.jpg', true],
    ['https://images.example.com:8443/a.jpg', true],
    ['HTTPS://IMAGES.EXAMPLE.COM/a.jpg', true],
    ['https://8.8.8.8/a.jpg', true],
    ['https://shop.named/a.jpg', true],
    ['http://127.0.0.9/a.jpg', true],
    ['javascript:alert(1)', false],
    ['data:text/html,<script>alert(1)</script>', false],
    ['file:///etc/passwd', false],
    ['//images.example.com/a.jpg', false],
    ['images/a.jpg', false],
    ['https://user:word@images.example.com/a.jpg', false],
    ['https://images.example.com./a.jpg', true],
    ['https://shop.named./a.jpg', true],
    ['http://localhost/a.jpg', false],
    ['http://localhost./a.jpg', false],
    ['http://LocalHost./a.jpg', false],
    ['http://localhost../a.jpg', false],
    ['http://images.localhost./a.jpg', false],
    ['http://localhost.localdomain/a.jpg', false],
    ['http://localhost6.localdomain6/a.jpg', false],
    ['http://printer.LAN./a.jpg', false],
    ['http://l%6fcalhost./a.jpg', false],
    ['http://\uff4cocalhost\u3002/a.jpg', false],
    ['http://127.1./a.jpg', false],
    ['http://0x7f000001/a.jpg', false],
    ['http://017700000001/a.jpg', false],
    ['http://[::ffff:127.0.0.1]/a.jpg', false],
    ['http://[::ffff:7f00:1]/a.jpg', false],
    ['http://images..example.com/a.jpg', false],
    ['http://./a.jpg', false],
    ['http://printer.lan/a.jpg', false],
    ['http://intranet/a.jpg', false],
    ['http://127.0.0.1/a.jpg', false],
    ['http://2130706433/a.jpg', false],
    ['http://10.0.0.1/a.jpg', false],
    ['http://169.254.169.254/latest', false],
    ['http://[::1]/a.jpg', false],
    ['http://images.example.com\\@10.0.0.1/a.jpg', false],
    [' https://images.example.com/a.jpg', false],
  ])('%s: %s', (url, expected) => {
    expect(publishable(['127.0.0.9', 'shop.named'])(url)).toBe(expected);
  });
});

const image = (large: string) => JSON.stringify({ large, alt_text: 'A lamp? Yes', credit: null });
const at = Date.UTC(2026, 10, 28, 12, 0, 0);

describe('a signed address of an image', () => {
  it.each([
    [
      'https://cdn.example/a.jpg?w=500&Expires=1795867200&Signature=ab~c&Key-Pair-Id=K1',
      'https://cdn.example/a.jpg?w=500',
    ],
    [
      'https://cdn.example/a.jpg?X-Amz-Date=20261128T110000Z&X-Amz-Expires=3600&X-Amz-Signature=f',
      'https://cdn.example/a.jpg',
    ],
    ['https://cdn.example/a.jpg?sv=2024&se=2026-11-28T12%3A00%3A00Z&sig=x&w=1', 'https://cdn.example/a.jpg?w=1'],
    ['https://cdn.example/a.jpg?w=500&h=500', 'https://cdn.example/a.jpg?w=500&h=500'],
  ])('is the same without what signs it: %s', (sent, plain) => {
    expect(unsigned(image(sent))).toBe(image(plain));
  });

  it('is another one with another size (control)', () => {
    expect(unsigned(image('https://cdn.example/a.jpg?w=1&sig=x'))).not.toBe(
      unsigned(image('https://cdn.example/a.jpg?w=2&sig=x')),
    );
  });

  it.each([
    [`https://cdn.example/a.jpg?Expires=${at / 1000}&Signature=x`, at],
    ['https://cdn.example/a.jpg?X-Amz-Date=20261128T110000Z&X-Amz-Expires=3600', at],
    ['https://cdn.example/a.jpg?se=2026-11-28T12%3A00%3A00Z&sig=x', at],
    ['https://cdn.example/a.jpg?e=12', null],
    ['https://cdn.example/a.jpg', null],
    ['no address', null],
  ])('%s ends at %s', (sent, ends_at) => {
    expect(expiryOf(sent)).toBe(ends_at);
  });
});
