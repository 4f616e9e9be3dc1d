/** The value of one euro in each currency, and the currency's number of decimals. Invented and fixed. */
const currencies: Readonly<Record<string, { rate: number; decimals: number }>> = {
  EUR: { rate: 1, decimals: 2 },
  USD: { rate: 1.1, decimals: 2 },
  GBP: { rate: 0.85, decimals: 2 },
  CAD: { rate: 1.5, decimals: 2 },
  AUD: { rate: 1.65, decimals: 2 },
  THB: { rate: 38, decimals: 2 },
  HUF: { rate: 400, decimals: 2 },
  JPY: { rate: 160, decimals: 0 },
  KWD: { rate: 0.33, decimals: 3 },
};

export function isCurrency(code: string): boolean {
  return Object.hasOwn(currencies, code);
}

/** Converts euro cents into the smallest unit of a currency. `moved`: by which factor the rates of all others have moved. */
export function convert(cents: number, code: string, moved = 1): number {
  const { rate, decimals } = currencies[code] ?? { rate: 1, decimals: 2 };
  return Math.round((cents * rate * (code === 'EUR' ? 1 : moved) * 10 ** decimals) / 100);
}

/** Returns an amount as JSON. Whole amounts appear as an integer or with a zero after the point, as in the service. */
export function printAmount(amount: number, code: string): string {
  const decimals = currencies[code]?.decimals ?? 2;
  if (decimals === 0) return String(amount);
  if (amount < 0) return `-${printAmount(-amount, code)}`;
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, -decimals);
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  if (fraction !== '') return `${whole}.${fraction}`;
  return amount % 3 === 0 ? whole : `${whole}.0`;
}
