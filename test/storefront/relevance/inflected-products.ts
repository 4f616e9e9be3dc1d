import type { ProductEntry } from '../../../src/catalogue/product.rules.ts';
import { productOf } from '../../fakes/stored-products.ts';

/*
 * 240 products in English and in five languages that inflect their words: 22 kinds of places in ten cities, and 20 that
 * have a name of their own in each language. Names stand in the cases in which titles have them.
 */

export const inflected = ['pl', 'cs', 'uk', 'tr', 'hu'] as const;
export type Inflected = (typeof inflected)[number];

/** Of each city its name, and the form in titles: of ten words, English first. */
const cityRows = `
Krakow|Kraków|w Krakowie|Krakov|v Krakově|Краків|у Кракові|Krakov|Krakov'da|Krakkó|krakkói
Warsaw|Warszawa|w Warszawie|Varšava|ve Varšavě|Варшава|у Варшаві|Varşova|Varşova'da|Varsó|varsói
Prague|Praga|w Pradze|Praha|v Praze|Прага|у Празі|Prag|Prag'da|Prága|prágai
Kyiv|Kijów|w Kijowie|Kyjev|v Kyjevě|Київ|у Києві|Kiev|Kiev'de|Kijev|kijevi
Istanbul|Stambuł|w Stambule|Istanbul|v Istanbulu|Стамбул|у Стамбулі|İstanbul|İstanbul'da|Isztambul|isztambuli
Budapest|Budapeszt|w Budapeszcie|Budapešť|v Budapešti|Будапешт|у Будапешті|Budapeşte|Budapeşte'de|Budapest|budapesti
Vienna|Wiedeń|w Wiedniu|Vídeň|ve Vídni|Відень|у Відні|Viyana|Viyana'da|Bécs|bécsi
Rome|Rzym|w Rzymie|Řím|v Římě|Рим|у Римі|Roma|Roma'da|Róma|római
Paris|Paryż|w Paryżu|Paříž|v Paříži|Париж|у Парижі|Paris|Paris'te|Párizs|párizsi
London|Londyn|w Londynie|Londýn|v Londýně|Лондон|у Лондоні|Londra|Londra'da|London|londoni`;

/** Of each kind two forms in each language. */
const kindRows = `
Castle|Zamek|zamku|Hrad|hradu|Замок|замку|Kalesi|Kaleleri|Vár|várba
History Museum|Muzeum Historii|muzeów historii|Historické muzeum|historických muzeí|Історичний музей|історичних музеїв|Tarih Müzesi|Tarih Müzeleri|Történeti Múzeum|történeti múzeumba
Cathedral|Katedra|katedry|Katedrála|katedrály|Собор|собору|Katedrali|Katedralleri|Székesegyház|székesegyházba
TV Tower|Wieża Telewizyjna|wieży telewizyjnej|Televizní věž|televizní věže|Телевежа|телевежі|Televizyon Kulesi|Televizyon Kuleleri|Tévétorony|tévétoronyba
Summer Palace|Pałac Letni|pałacu letniego|Letní palác|letního paláce|Літній палац|літнього палацу|Yazlık Sarayı|Yazlık Sarayları|Nyári Palota|nyári palotába
River Cruise|Rejs po rzece|rejsów po rzece|Plavba po řece|plaveb po řece|Круїз річкою|круїзу річкою|Nehir Gezisi|Nehir Gezileri|Hajókirándulás|hajókirándulásra
Zoo|Ogród Zoologiczny|ogrodu zoologicznego|Zoologická zahrada|zoologické zahrady|Зоопарк|зоопарку|Hayvanat Bahçesi|Hayvanat Bahçeleri|Állatkert|állatkertbe
Botanical Garden|Ogród Botaniczny|ogrodu botanicznego|Botanická zahrada|botanické zahrady|Ботанічний сад|ботанічного саду|Botanik Bahçesi|Botanik Bahçeleri|Botanikus Kert|botanikus kertbe
Aquarium|Oceanarium|oceanarium|Mořské akvárium|mořského akvária|Океанаріум|океанаріуму|Akvaryumu|Akvaryumları|Akvárium|akváriumba
Old Town Walk|Spacer po Starym Mieście|spaceru po starym mieście|Procházka starým městem|procházky starým městem|Прогулянка старим містом|прогулянки старим містом|Eski Şehir Yürüyüşü|Eski Şehir Yürüyüşleri|Óvárosi Séta|óvárosi sétára
Food Tasting|Degustacja potraw|degustacji potraw|Ochutnávka jídel|ochutnávky jídel|Дегустація страв|дегустації страв|Yemek Tadımı|Yemek Tadımları|Ételkóstoló|ételkóstolóra
Opera|Opera|opery|Opera|opery|Опера|опери|Operası|Operaları|Operaház|operaházba
Art Gallery|Galeria Sztuki|galerii sztuki|Galerie umění|galerií umění|Галерея мистецтв|галереї мистецтв|Sanat Galerisi|Sanat Galerileri|Művészeti Galéria|művészeti galériába
Wax Museum|Muzeum Figur Woskowych|muzeum figur woskowych|Muzeum voskových figurín|muzea voskových figurín|Музей воскових фігур|музею воскових фігур|Balmumu Müzesi|Balmumu Müzeleri|Panoptikum|panoptikumba
Bicycle Ride|Przejażdżka rowerowa|przejażdżki rowerowej|Jízda na kole|jízdy na kole|Велосипедна поїздка|велосипедної поїздки|Bisiklet Gezisi|Bisiklet Gezileri|Kerékpártúra|kerékpártúrára
Ghost Walk|Spacer śladami duchów|spaceru śladami duchów|Procházka za duchy|procházky za duchy|Прогулянка з привидами|прогулянки з привидами|Hayalet Yürüyüşü|Hayalet Yürüyüşleri|Kísértetséta|kísértetsétára
Thermal Bath|Łaźnia Termalna|łaźni termalnej|Termální lázně|termálních lázní|Термальна купальня|термальної купальні|Termal Hamamı|Termal Hamamları|Gyógyfürdő|gyógyfürdőbe
Stadium|Stadion|stadionu|Stadion|stadionu|Стадіон|стадіону|Stadyumu|Stadyumları|Stadion|stadionba
Observation Deck|Taras Widokowy|tarasu widokowego|Vyhlídková terasa|vyhlídkové terasy|Оглядовий майданчик|оглядового майданчика|Seyir Terası|Seyir Terasları|Kilátó|kilátóba
Catacombs|Katakumby|katakumb|Katakomby|katakomb|Катакомби|катакомб|Yeraltı Mezarı|Yeraltı Mezarları|Katakomba|katakombába
Synagogue|Synagoga|synagogi|Synagoga|synagogy|Синагога|синагоги|Sinagogu|Sinagogları|Zsinagóga|zsinagógába
Chocolate Workshop|Warsztaty czekolady|warsztatów czekolady|Čokoládová dílna|čokoládové dílny|Майстерня шоколаду|майстерні шоколаду|Çikolata Atölyesi|Çikolata Atölyeleri|Csokoládéműhely|csokoládéműhelybe`;

/** Of each named place its English title, its title, and its city. */
const namedRows: Readonly<Record<Inflected, string>> = {
  pl: `
Royal Castle on the Wawel Hill|Zamek Królewski na Wawelu: bilet wstępu|Kraków
Wieliczka Salt Mine|Kopalnia Soli w Wieliczce: zwiedzanie z przewodnikiem|Wieliczka
Malbork Castle|Wycieczka do zamku w Malborku|Malbork
Royal Baths Park|Łazienki Królewskie: spacer po parku|Warszawa
Wilanow Palace|Wejście do pałacu w Wilanowie|Warszawa
Copernicus Science Centre|Centrum Nauki Kopernik: bilet rodzinny|Warszawa
St. Mary's Basilica|Bazylika Mariacka: wejście na wieżę|Kraków
Schindler's Factory|Fabryka Schindlera: zwiedzanie|Kraków
Cloth Hall Gallery|Galeria w Sukiennicach|Kraków
Palace of Culture Viewing Terrace|Taras Pałacu Kultury i Nauki|Warszawa
Warsaw Rising Museum|Muzeum Powstania Warszawskiego|Warszawa
Colosseum and Roman Forum|Koloseum i Forum Romanum: wstęp bez kolejki|Rzym
Vatican Museums and Sistine Chapel|Muzea Watykańskie i Kaplica Sykstyńska|Rzym
Eiffel Tower|Wjazd na Wieżę Eiffla|Paryż
Louvre|Bilet do Luwru|Paryż
Tower of London|Twierdza Tower: klejnoty koronne|Londyn
Charles Bridge|Spacer mostem Karola|Praga
Hagia Sophia|Wizyta w Hagii Sophii|Stambuł
Schonbrunn Palace|Sale pałacu Schönbrunn|Wiedeń
Gubalowka Funicular|Kolejka na Gubałówkę|Zakopane`,
  cs: `
Prague Castle|Vstupenka do Pražského hradu|Praha
Charles Bridge Tower|Věž na Karlově mostě|Praha
Astronomical Clock|Staroměstská radnice s orlojem|Praha
Jewish Quarter|Židovské město: památky Josefova|Praha
Karlstejn Castle|Výlet na Karlštejn|Karlštejn
Krumlov Castle|Zámek v Českém Krumlově: prohlídka|Český Krumlov
Bone Church|Kostnice v Sedlci|Kutná Hora
Lednice Castle Park|Zámecký park v Lednici|Lednice
Pilsner Brewery|Prohlídka plzeňského pivovaru|Plzeň
Villa Tugendhat|Vila Tugendhat|Brno
Spilberk Casemates|Kasematy na Špilberku|Brno
Macocha Abyss|Propast Macocha a Punkevní jeskyně|Blansko
National Museum|Národní muzeum: expozice minerálů|Praha
Petrin Tower|Petřínská rozhledna|Praha
Colosseum|Koloseum: vstup do arény|Řím
Vatican Museums|Vatikánská muzea a Sixtinská kaple|Řím
Eiffel Tower|Eiffelova věž: výstup po schodech|Paříž
Louvre|Prohlídka Louvru|Paříž
Blue Mosque|Modrá mešita a okolí|Istanbul
Schonbrunn Palace|Zámek Schönbrunn: císařské pokoje|Vídeň`,
  uk: `
Kyiv Pechersk Lavra|Екскурсія Києво-Печерською лаврою|Київ
Saint Sophia|Софія Київська: вхід до собору|Київ
Golden Gate|Музей у Золотих воротах|Київ
Motherland Monument|Оглядова висота Батьківщини-матері|Київ
Mariinskyi Palace|Відвідування Маріїнського палацу|Київ
Andriivskyi Descent|Прогулянка Андріївським узвозом|Київ
Pyrohiv Open-Air Museum|Музей просто неба в Пирогові|Київ
Mezhyhirya Residence|Поїздка до Межигір'я|Нові Петрівці
Lviv Opera|Львівська опера: вистава|Львів
Lychakiv Cemetery|Личаківський цвинтар: екскурсія|Львів
High Castle|Підйом на Високий замок|Львів
Odesa Catacombs|Одеські катакомби|Одеса
Potemkin Stairs|Потьомкінські сходи з гідом|Одеса
Kamianets Fortress|Фортеця в Кам'янці-Подільському|Кам'янець-Подільський
Khotyn Fortress|Квитки до Хотинської фортеці|Хотин
Sofiyivka Park|Парк Софіївка: прогулянка|Умань
Colosseum|Колізей: вхід без черги|Рим
Eiffel Tower|Підйом на Ейфелеву вежу|Париж
Louvre|Квиток до Лувру|Париж
Wawel Castle|Королівський замок на Вавелі|Краків`,
  tr: `
Topkapi Palace|Topkapı Sarayı ve Harem: sesli rehber|İstanbul
Hagia Sophia|Ayasofya Camii: ziyaret|İstanbul
Basilica Cistern|Yerebatan Sarnıcı'nda akşam|İstanbul
Galata Tower|Galata Kulesi'nden manzara|İstanbul
Maiden's Tower|Kız Kulesi: tekne dahil|İstanbul
Dolmabahce Palace|Dolmabahçe'de saray turu|İstanbul
Grand Bazaar|Kapalıçarşı'da alışveriş yürüyüşü|İstanbul
Blue Mosque|Sultanahmet Camii çevresi|İstanbul
Ephesus|Efes Antik Kenti'ne günübirlik|Selçuk
Pamukkale Travertines|Pamukkale travertenleri ve havuz|Denizli
Cappadocia Balloon Flight|Kapadokya'da balon uçuşu|Göreme
Goreme Open-Air Museum|Göreme'deki açık hava müzesi|Göreme
Museum of Anatolian Civilizations|Anadolu Medeniyetleri Müzesi|Ankara
Ataturk Mausoleum|Anıtkabir'e saygı ziyareti|Ankara
Mevlana Mausoleum|Mevlana'nın türbesi|Konya
Sumela Monastery|Sümela Manastırı'na yolculuk|Trabzon
Mount Nemrut|Nemrut Dağı'nda gün doğumu|Adıyaman
Colosseum|Kolezyum: arenaya giriş|Roma
Eiffel Tower|Eyfel Kulesi'ne çıkış|Paris
Louvre|Louvre'da rehberli gezi|Paris`,
  hu: `
Buda Castle|Barangolás a budai várban|Budapest
Parliament|Az Országház termei|Budapest
Szechenyi Baths|Egész nap a Széchenyi fürdőben|Budapest
Gellert Baths|Belépés a Gellért gyógyfürdőbe|Budapest
Fisherman's Bastion|Halászbástya: felső terasz|Budapest
St. Stephen's Basilica|A Szent István-bazilika kupolája|Budapest
Margaret Island|Bringózás a Margitszigeten|Budapest
Dohany Street Synagogue|A Dohány utcai zsinagóga|Budapest
House of Terror|Terror Háza: állandó kiállítás|Budapest
Danube Dinner|Vacsora a Dunán|Budapest
Eger Castle|Az egri vár kazamatái|Eger
Tihany Abbey|A tihanyi apátság|Tihany
Hortobagy Carriage Ride|Szekerezés a Hortobágyon|Hortobágy
Pannonhalma Archabbey|Pannonhalmi főapátság|Pannonhalma
Aggtelek Cave|Cseppkőbarlang Aggteleken|Aggtelek
Visegrad Citadel|A visegrádi fellegvár|Visegrád
Godollo Palace|Látogatás a gödöllői kastélyban|Gödöllő
Colosseum|Belépő a Colosseumba|Róma
Eiffel Tower|Fel az Eiffel-toronyba|Párizs
Louvre|Irány a Louvre: festmények|Párizs`,
};

const titles: Readonly<Record<Inflected, readonly ((kind: readonly string[], city: readonly string[]) => string)[]>> = {
  pl: [([kind], [, city]) => `${kind} ${city}: bilet wstępu`, ([, kind], [, city]) => `Wstęp do ${kind} ${city}`],
  cs: [([kind], [, city]) => `${kind} ${city}: vstupenka`, ([, kind], [, city]) => `Vstup do ${kind} ${city}`],
  uk: [([kind], [, city]) => `${kind} ${city}: вхідний квиток`, ([, kind], [, city]) => `Квиток до ${kind} ${city}`],
  tr: [([kind], [city]) => `${city} ${kind}: giriş bileti`, ([, kind], [, city]) => `${city} ${kind}: rehberli tur`],
  hu: [([kind], [, city]) => `A ${city} ${kind}: belépőjegy`, ([, kind], [, city]) => `Belépő a ${city} ${kind}`],
};

/** The kinds as people type them: the words in Turkish without their possessives, in the other languages the first form. */
const turkishKinds =
  `kale|tarih müze|katedral|televizyon kule|yazlık saray|nehir gezi|hayvanat bahçe|botanik bahçe|akvaryum|eski şehir
yürüyüş|yemek tadım|opera|sanat galeri|balmumu müze|bisiklet gezi|hayalet yürüyüş|termal hamam|stadyum|seyir teras|yeraltı mezar|
sinagog|çikolata atölye`
    .replaceAll('\n', ' ')
    .split('|');

const rowsOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|'));
const [cities, kinds] = [rowsOf(cityRows), rowsOf(kindRows)];

/** Returns a kind's product in a city, both by their English names; a named place's by its title in English. */
export function inflectedId(language: Inflected, name: string, city?: string): number {
  const named = rowsOf(namedRows[language]).findIndex(([title]) => title === name);
  if (city === undefined && named >= 0) return 1001 + named;
  const [kind, at] = [kinds.findIndex(([each]) => each === name), cities.findIndex(([each]) => each === city)];
  if (kind < 0 || at < 0) throw new Error(`no product is ${name} in ${city ?? 'no city'}`);
  return 1 + kind + at * kinds.length;
}

/** Returns each kind with each city in their base forms, and the product that is meant. */
export function inflectedKinds(language: Inflected): [text: string, product_id: number][] {
  const column = 1 + 2 * inflected.indexOf(language);
  return cities.flatMap((city, at) =>
    kinds.map((kind, index): [string, number] => {
      const name = language === 'tr' ? turkishKinds[index]?.trim() : kind[column];
      return [`${name} ${city[column]}`.toLowerCase(), 1 + index + at * kinds.length];
    }),
  );
}

/** Returns the products of a language: as they are in English, and in the language. */
export function inflectedEntries(language: Inflected): readonly [english: ProductEntry[], own: ProductEntry[]] {
  const column = 1 + 2 * inflected.indexOf(language);
  const cityIds = new Map(cities.map((row, index): [string, number] => [row[column] ?? '', index + 1]));
  const english: ProductEntry[] = [];
  const own: ProductEntry[] = [];
  function put(id: number, [title, theirs]: readonly [string, string], [city, its]: readonly [string, string]): void {
    const city_id = cityIds.get(its) ?? id;
    const of = { city_id, rating: 3 + ((id * 7) % 20) / 10, venue_id: null, country_name: null };
    english.push(productOf(id, { ...of, title, city_name: city }));
    own.push(productOf(id, { ...of, title: theirs, city_name: its }));
  }
  for (const [at, city] of cities.entries())
    for (const [index, kind] of kinds.entries()) {
      const form = titles[language][(at + index) % 2];
      const forms = [kind, city].map((row) => row.slice(column, column + 2)) as [string[], string[]];
      const title = form?.(...forms) ?? '';
      put(1 + index + at * kinds.length, [`${city[0]} ${kind[0]}: Entry`, title], [city[0] ?? '', forms[1][0] ?? '']);
    }
  for (const [index, [title = '', theirs = '', its = '']] of rowsOf(namedRows[language]).entries()) {
    const known = cities.find((row) => row[column] === its)?.[0];
    put(1001 + index, [title, theirs], [known ?? its, its]);
  }
  return [english, own];
}
