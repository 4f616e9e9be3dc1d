/**
 * Currencies of ISO 4217 whose minor unit is not a hundredth. They are listed here, because the runtime's own tables
 * are wrong for several (HUF, COP, IQD, LBP). A currency is identified by its code alone.
 */
const exponents: Readonly<Record<string, number>> = {
  BIF: 0, CLP: 0, DJF: 0, GNF: 0, ISK: 0, JPY: 0, KMF: 0, KRW: 0, PYG: 0, RWF: 0, UGX: 0, UYI: 0, VND: 0, VUV: 0,
  XAF: 0, XOF: 0, XPF: 0, BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3, CLF: 4, UYW: 4,
}; // biome-ignore format: a table

const hundredths = new Set(
  `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP
   COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR
   JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN
   NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
   THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`.split(/\s+/),
);

/** Returns the number of decimals of a currency's minor unit; null for a code that ISO 4217 does not list. */
export function minorUnitExponent(currency: string): number | null {
  return exponents[currency] ?? (hundredths.has(currency) ? 2 : null);
}

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Returns a decimal, as the service wrote it, in minor units of `currency`: exact or null, never rounded. Null for a
 * currency that we do not know, an amount that needs a finer unit than the currency has, and a text that is not a
 * decimal.
 */
export function minorUnits(text: string, currency: string): number | null {
  const exponent = minorUnitExponent(currency);
  const [, sign, whole = '', fraction = '', power = '0'] = decimal.exec(text) ?? [];
  if (exponent === null || sign === undefined) return null;
  const digits = whole + fraction;
  const kept = Math.max(0, whole.length + Number(power) + exponent);
  if (/[1-9]/.test(digits.slice(kept))) return null;
  const amount = Number(`${sign}0${digits.slice(0, kept).padEnd(kept, '0')}`);
  return Number.isSafeInteger(amount) ? amount + 0 : null;
}

/** With up to fifteen digits, no other number is nearest to the same decimal. */
const exactBelow = 1e15;
/** Error that a sum of a few amounts may have: in units of the last place of a double, and of a minor unit. */
const mostOff = { places: 8, ofUnit: 1e-6 };

/**
 * Returns a function like `minorUnits` for JSON numbers. A number within double precision of a minor unit is that minor
 * unit: a service that adds 19.99 and 20.00 writes 39.989999999999995. It prints only the unusual ones, because an
 * answer has a thousand.
 */
export function minorUnitsIn(currency: string): (value: number) => number | null {
  const scale = 10 ** (minorUnitExponent(currency) ?? Number.NaN);
  return (value) => {
    const amount = Math.round(value * scale);
    const off = Math.abs(amount / scale - value);
    const isNear = off <= mostOff.places * Number.EPSILON * Math.abs(value) && off * scale <= mostOff.ofUnit;
    if (Math.abs(amount) < exactBelow && isNear) return amount + 0;
    return minorUnits(String(value), currency);
  };
}

/**
 * Returns an amount in minor units as people write it: `1234.50 EUR`. In the minor unit if its exponent is not known.
 */
export function moneyText(amount: number, currency: string): string {
  const exponent = minorUnitExponent(currency);
  if (exponent === null) return `${amount} ${currency} minor units`;
  const digits = String(Math.abs(amount)).padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent);
  const fraction = exponent === 0 ? '' : `.${digits.slice(-exponent)}`;
  return `${amount < 0 ? '-' : ''}${whole}${fraction} ${currency}`;
}
