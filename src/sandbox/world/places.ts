/** A city of the sandbox. Names of countries are not needed; real places have real time zones. */
export interface Place {
  readonly city: string;
  readonly country: string;
  readonly zone: string | null;
  readonly lat: number;
  readonly lng: number;
}

const rows = `
Barcelona|Spain|Europe/Madrid|41.38|2.17
Paris|France|Europe/Paris|48.86|2.35
Rome|Italy|Europe/Rome|41.9|12.5
London|United Kingdom|Europe/London|51.51|-0.13
Amsterdam|The Netherlands|Europe/Amsterdam|52.37|4.9
New York|United States|America/New_York|40.71|-74.01
Lisbon|Portugal|Europe/Lisbon|38.72|-9.14
Berlin|Germany|Europe/Berlin|52.52|13.4
Dubai|United Arab Emirates|Asia/Dubai|25.2|55.27
Florence|Italy|Europe/Rome|43.77|11.26
Vienna|Austria|Europe/Vienna|48.21|16.37
Prague|Czech Republic|Europe/Prague|50.08|14.44
Dublin|Ireland|Europe/Dublin|53.35|-6.26
Sydney|Australia|Australia/Sydney|-33.87|151.21
Tokyo|Japan|Asia/Tokyo|35.68|139.69
Bangkok|Thailand|Asia/Bangkok|13.76|100.5
Singapore|Singapore|Asia/Singapore|1.35|103.82
Los Angeles|United States|America/Los_Angeles|34.05|-118.24
Honolulu|United States|Pacific/Honolulu|21.31|-157.86
Reykjavik|Iceland|Atlantic/Reykjavik|64.15|-21.94
Istanbul|Turkey|Europe/Istanbul|41.01|28.98
Mexico City|Mexico|America/Mexico_City|19.43|-99.13
Sao Paulo|Brazil|America/Sao_Paulo|-23.55|-46.63
Kathmandu|Nepal|Asia/Kathmandu|27.72|85.32
Auckland|New Zealand|Pacific/Auckland|-36.85|174.76
Lord Howe Island|Australia|Australia/Lord_Howe|-31.55|159.08
Kiritimati|Kiribati|Pacific/Kiritimati|1.87|-157.4
Pago Pago|American Samoa|Pacific/Pago_Pago|-14.28|-170.7
Waitangi|New Zealand|Pacific/Chatham|-43.95|-176.56
Toronto|Canada|America/Toronto|43.65|-79.38`;

export const places: readonly Place[] = rows
  .trim()
  .split('\n')
  .map((row) => {
    const [city = '', country = '', zone = '', lat, lng] = row.split('|');
    return { city, country, zone, lat: Number(lat), lng: Number(lng) };
  });

/**
 * Returns the place of a real entry. Its zone is that of the city or else of the country in the table above; null:
 * neither is there.
 */
export function placeIn(city: string, country: string): Place {
  const known = places.find((place) => place.city === city) ?? places.find((place) => place.country === country);
  return known === undefined ? { city, country, zone: null, lat: 0, lng: 0 } : { ...known, city, country };
}
