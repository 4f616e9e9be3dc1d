/*
 * Words that people type around the name they look for: they are in every title or in none. They are left out of a
 * query as long as another word remains.
 */

const english = `a an and are at best book booking buy by can cheap cheapest deal deals discount do entrance entry admission access
  fee fees for find from get good great guided how i in is it its just like line looking me my near nearby need of official on
  online or our please price prices pass reservation reserve see should skip some the there thing things this ticket tickets to
  top tour tours travel trip us visit visiting visitor want we what when where which with you your n s d t hours opening`;

const lists: Readonly<Record<string, string>> = {
  en: english,
  nl: `de het een en van in op te voor met bij naar uit aan ticket tickets kaartje kaartjes toegang toegangskaart entree toegangsbewijs
    rondleiding tour tours bezoek bezoeken kopen boeken reserveren goedkoop goedkope prijs prijzen wat doen zien dingen beste leuke
    dingen is er waar hoe ik wil we online korting zonder wachtrij`,
  de: `der die das den dem des ein eine einen einem einer und von vom in im am an auf zu zum zur für mit bei nach aus ticket tickets
    eintritt eintrittskarte eintrittskarten karte karten führung führungen tour touren besuch besuchen kaufen buchen reservieren
    günstig billig preis preise was kann man machen tun sehen unternehmen sehenswürdigkeiten beste besten ist wo wie ich wir online
    ohne anstehen`,
  fr: `le la les l un une des de du d et à au aux en dans sur pour avec chez par billet billets ticket tickets entrée entrées visite
    visites visiter guidée guidées coupe file acheter réserver réservation pas cher prix tarif tarifs que quoi faire voir choses
    meilleur meilleurs meilleures est où comment je nous on ligne réduction sans attente`,
  es: `el la los las un una unos unas de del y a al en por para con entrada entradas ticket tickets billete billetes visita visitas
    visitar guiada guiadas tour tours comprar reservar reserva barato baratas precio precios qué que hacer ver cosas mejor mejores
    es dónde cómo yo online descuento sin cola colas`,
  it: `il lo la i gli le l un uno una di del della dei delle dell d e a al alla in nel nella per con da dal biglietto biglietti ticket
    ingresso ingressi visita visite visitare guidata guidate tour comprare acquistare prenotare prenotazione economico prezzo prezzi
    cosa che fare vedere cose migliori miglior è dove come io online sconto salta fila senza`,
  pt: `o a os as um uma de do da dos das e em no na nos nas por para com bilhete bilhetes ingresso ingressos ticket tickets entrada
    entradas visita visitas visitar guiada guiadas tour comprar reservar reserva barato preço preços que fazer ver coisas melhor
    melhores é onde como eu online desconto sem fila filas`,
  pl: 'i w we na z ze do od dla po o bilet bilety wstęp wejście zwiedzanie wycieczka przewodnikiem kupić rezerwacja tani tanie cena ceny co robić zobaczyć rzeczy najlepsze jest gdzie jak online',
  cs: 'a i v ve na z ze do od k ke pro za po s se u vstupenka vstupenky lístek lístky vstup vstupné prohlídka prohlídky průvodcem koupit rezervace levně levné cena ceny co dělat vidět navštívit nejlepší je kde jak online',
  sk: 'a i v vo na z zo do od k ku pre za po s so u vstupenka vstupenky lístok lístky vstup vstupné prehliadka prehliadky sprievodcom kúpiť rezervácia lacno lacné cena ceny čo robiť vidieť navštíviť najlepšie je kde ako online',
  uk: 'і й та у в на з зі із до від для за по квиток квитки вхід екскурсія екскурсії тур тури гідом відвідування купити забронювати ціна ціни дешево що робити подивитися побачити найкращі де як онлайн без черги',
  hu: 'a az és vagy egy jegy jegyek belépő belépőjegy belépőjegyek belépés vezetett túra túrák látogatás vásárlás foglalás olcsó ár árak mit csinálni látni legjobb van hol hogyan online sorban állás nélkül',
  sv: 'en ett den det och i på av för med till från hos biljett biljetter inträde entré guidad tur turer besök besöka köpa boka billig pris priser vad göra se saker bästa är var hur online',
  da: 'en et den det og i på af for med til fra hos billet billetter indgang entré guidet tur ture besøg besøge købe bestille billig pris priser hvad lave gøre se ting bedste er hvor hvordan online',
  no: 'en et den det og i på av for med til fra hos billett billetter inngang guidet tur turer besøk besøke kjøpe bestille billig pris priser hva gjøre se ting beste er hvor hvordan online',
  fi: 'ja tai on lippu liput pääsylippu pääsyliput opastettu kierros käynti osta ostaa varaa varata halpa hinta hinnat mitä tehdä nähdä paras parhaat missä miten',
  ru: 'и в во на с со к по из от для билет билеты вход экскурсия экскурсии тур туры посещение купить забронировать цена цены дешево что делать посмотреть посетить лучшие где как онлайн без очереди',
  tr: 've ile bir için de da bilet biletler bileti biletleri giriş rehberli tur turu turlar ziyaret satın al rezervasyon ucuz fiyat fiyatı fiyatları ne yapılır gezilecek yerler en iyi nerede nasıl',
  ar: 'في من على الى إلى عن مع و تذكرة تذاكر التذاكر دخول الدخول جولة جولات زيارة حجز شراء سعر اسعار أسعار رخيص ماذا افعل أفضل افضل اين أين كيف',
  el: 'ο η το οι τα του της των και σε στο στη στην από για με εισιτήριο εισιτήρια είσοδος ξενάγηση περιήγηση επίσκεψη αγορά κράτηση φθηνά τιμή τιμές τι να κάνω δω καλύτερα πού πώς',
};

/**
 * Returns all generic words with their languages, as they are typed. People type the English ones in every language.
 */
export function genericWords(): [language: string, word: string][] {
  return Object.entries(lists).flatMap(([language, words]) =>
    words.split(/\s+/).map((word): [string, string] => [language, word]),
  );
}
