/*
 * Addresses of images that are signed for a while. The signature and the expiry differ in each answer, and say nothing
 * about the image.
 */

/** Parameters that sign an address or end its time: of CloudFront, S3, Google, Azure, Akamai and imgix. */
const signing =
  /^(expires?|expiry|exp|signature|sig|sign|s|e|se|st|sp|sv|sr|ske|sks|skt|skv|skoid|sktid|token|hmac|hash|policy|key-pair-id|hdnts|hdnea|verify|x-(amz|goog)-.+|googleaccessid|awsaccesskeyid)$/i;

/** Returns the JSON of an image, or of a list of images, without what signs their addresses. */
export function unsigned(document: string): string {
  if (!document.includes('?')) return document;
  return JSON.stringify(JSON.parse(document), (_, value: unknown) =>
    typeof value === 'string' ? withoutSignature(value) : value,
  );
}

function withoutSignature(text: string): string {
  if (!/^https?:.*\?/i.test(text)) return text;
  const [address = '', query = ''] = text.split(/\?(.*)/s);
  const parameters = query.split('&').filter((each) => !signing.test(each.split('=', 1)[0] ?? ''));
  return parameters.length === 0 ? address : `${address}?${parameters.join('&')}`;
}

/** Returns the instant from which on an address is refused; null: it names none. */
export function expiryOf(text: string): number | null {
  const parameters = new Map(
    [...(URL.parse(text)?.searchParams ?? [])].map(([name, value]) => [name.toLowerCase(), value]),
  );
  for (const vendor of ['x-amz', 'x-goog']) {
    const from = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(parameters.get(`${vendor}-date`) ?? '');
    const seconds = Number(parameters.get(`${vendor}-expires`) ?? Number.NaN);
    if (from !== null && Number.isFinite(seconds)) {
      const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = from.slice(1).map(Number);
      return Date.UTC(year, month - 1, day, hour, minute, second) + seconds * 1000;
    }
  }
  for (const name of ['expires', 'expire', 'expiry', 'exp', 'se', 'e']) {
    const value = parameters.get(name) ?? '';
    const seconds = /^\d{10}(\d{3})?$/.test(value) ? Number(value.slice(0, 10)) * 1000 : Date.parse(value);
    if (/^\d{10}|^\d{4}-\d\d-\d\d/.test(value) && Number.isFinite(seconds)) return seconds;
  }
  return null;
}
