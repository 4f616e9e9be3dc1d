import { describe, expect, it } from 'vitest';
import { expiryOf, unsigned } from '../../src/domain/catalogue/signed-address.ts';

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
