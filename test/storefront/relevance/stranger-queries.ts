/*
 * Three sets of 100 queries over the shared sample, each written by a reader of the catalogue who had seen neither the
 * search nor its ranking: a query and the products that belong among the first three. The search was adjusted on `y` only.
 */
import type { Query } from './real-queries.ts';

const sets = {
  x: `hoge veluwe national park 975330; draculas castle 975548; natural bridge caverns hidden wonders 1092210; the nobel prize museum 1031577; conciergerie
    and sainte chapelle 974486; prehistoric planet paris atelier des lumieres 1033140; grand ole opry backstage 1040807; boston history pass 1101408;
    museum of illusions denver 1131669; lascaux 1097240; gardaland 974382; euromast 1114306; icebar 1113002; xel ha 975650 975798; cinque terre 1047592
    1074972; moulin rouge 1074366; hadrians wall 1000776; pearl harbor 1026754; peppa pig 1129981; barcelona flamenco show 1035745 1111500 1115578
    1120732; florence cooking class 1088942 1121558 1122211; new york helicopter tour 1111393 1111521; food tour philadelphia 1121464 1128090; venice
    water taxi 1077843 1094488; dinner cruise prague 1114838; thermal baths iceland 1059768 1126687 1111529; chicago cruise 982295 1098010; boat trip
    trapani favignana 1120694 1122012 1126995; vancouver seaplane flight 1116251; aquarium valencia 989326; waterpark benidorm 975572; hollywood tours los
    angeles 1095564 1115661; madrid flamenco 1017672 1122394; paris dinner cruise seine 1002162 1111455; bordeaux tower climb view 1122008 1128388; zoo in
    rome 1102524; hop on hop off boston 1097024; neuswanstein castle 1036873 1107188; eifel tower 1109636 1111387; niagra falls 1108687 976295; carcasonne
    1100119; fontainbleau vaux le viconte 977263; giverney monet garden 980811; sumit one vanderbild 1131250; chichen itsa 1097141; curchill war room
    1118150; benagill cave boat 1119083 1119568; leggoland billund 1015889; montserat from barcelona 996155 1122803; windmil lane studio 996221; everglade
    airboat aligators 974508; schindler factory cracow 1093145; de kuip stadion rotterdam 1124549; the met new york guided tour 1084287; ground zero
    museum 1092486; nessie tour 1126612; mezquita cordoba 1025594 1089764; museum den bosch 975624; benfica stadium 1100928 1101459; nordkette innsbruck
    1012391; het laatste avondmaal milaan 1090447 1108396; karelsbrug praag toren 1033879; dierentuin antwerpen 1118878; gondel venetië 1111557 1035094;
    geboortehuis van gogh 975541; leeuwenkoning musical londen 1049090; wisseling van de wacht londen 1049420; boottocht vrijheidsbeeld 1 uur new york
    1111771; cristo velato napoli 1104246 1115015; verkehrshaus luzern 1032324; tiergarten schönbrunn eintritt 1088835; theresienstadt 1121277; tombeau de
    napoleon invalides 1030287; museo nacional de antropologia mexico 1044544; koetsenmuseum lissabon 1031614; walvissen spotten reykjavik 1095151;
    comomeer boottocht 1026316 1060461; chocolademuseum playa del carmen 1082484; delfts blauw tegel schilderen 1122893; romeo and juliet balcony 1099155;
    upside down house missouri 1026468; real molten lava indoors 1069761; firefighting museum 1043895; tour in total darkness blind guide 1012594; wild
    animals safari close to paris 976991; secret passage vatican 1111246; unlimited chocolate tasting switzerland 1029945; paddleboard with bats 1128791;
    dinosaur excavation and caves mallorca 1108504; cod history museum 1009921; alhambra granada tickets 1057154 1111480; dover castle opening hours
    992063; cheap tickets walibi 1065286; efteling tickets discount family 1032256; uffizi tickets reserved 1111247; duomo milan rooftop tickets 1092629
    1111408; copenhagen zoo tickets for kids skip the line 976349; harry potter studio london tickets with bus 1111536; lake louise snow tubing with
    children 1008134; raging waters los angeles ticket price 1066429;`,
  y: `colosseum 1068224 1130507; colloseum skip line 1068224 1130507; uffizi tickets 1111247; last supper milan 1090447 1108396; duomo milan roof 1092629
    1111408; sagrada familia photoshoot 1025667; monserrat from barcelona 996155 1122803; flamenco barcelona tonight 1111500 1115578 1120732 1035745;
    flamenco madrid 1017672 1122394; alhambra granada 1057154 1111480; mezquita cordoba 1025594 1089764; burj kalifa 1111392; desert safari dubai 1111116
    1111474; dubai waterpark for kids 1111518; eifel tower 1109636 1111387; dinner cruise paris 1002162 1111455; st chapelle 974486 1127435; napoleon
    grave 1030287; rodin museum 978005; dinosaurs paris kids 1033140; moulin rouge 1074366; monet garden day trip 980811; d day beaches 977020; inside
    buckingham palace 975855; changing guards 1049420; harry potter studio london bus 1111536; war rooms 1118150; brittish musuem 1111203; madam tusauds
    amsterdam 1126875; lion king 1049090; boat to greenwich 975431; stand up comedy london 1124859; hoho bus athens 975166; hop on off chicago 994571;
    statue of liberty boat 1111771 1034217; helicopter nyc 1111393 1111521; the met 1084287; 911 museum 1092486; nyc observation deck 1092570 1110288
    1131250; rockefeller top 1110288; niagra falls 1108687 976295; pearl harbour 1026754; blue man group vegas 1132166; magic show las vegas 1080925;
    hollywood tour la 1095564 1115661; getty 1119928; chicago boat tour 982295 1098010; philly food tour 1121464 1128090; gators airboat 974508; opry
    backstage 1040807; bats austin 1128791; lego dallas 976498; beetles museum liverpool 976665; jameson 974105; irish pubs live music 1118407; whisky
    glasgow 1026092; loch ness 1126612; hadrians wall 1000776; GoT studio belfast 1027706; anne frank 1119131; weed boat amsterdam 1130506; zanse schans
    train 1083067; rembrandthuis 1113461 1126875; mozart concert vienna 1069031; halstatt from vienna 980943; bone church prague 1115058; theresienstadt
    1121277; jewish quarter prague 1004306 1086526; shindlers factory 1093145; neuschwanstien castle 1107188 1036873; reeperbahn 1087062 1100515; sky
    lagoon opening hours 1111529; whales reykjavik 1095151; ice bar 1113002; bosporus boat cheap 1100070; benagil cave 1119083 1119568; fado lisbon
    1117655; benfica stadium 1100928 1101459; egg tart baking class porto 1119396; royal carriages lisbon 1031614; real madrid stadium 1128464; cenacolo
    milano 1090447 1108396; gondola ride 1035094 1111557; murano glass blowing 1111491 1114874; vesuvio 1088872 1110665; veiled christ 1104246 1115015; 5
    terre 1047592 1074972; cooking class florence 1088942 1121558 1122211; romeo juliet balcony 1099155; left luggage rome 1031500; fco taxi to hotel
    1011765; popes summer palace 974489; vatican secret tunnel 1111246; zoo rome 1102524; dracula castle 975548; halong bay cruise 1122302 1122304; dinner
    cruise bangkok 976592 1114481; mcg tour 1113814 1114891; great barrier reef snorkel 1120564 1015691 1126180; chichen itza audioguide 1097141;`,
  z: `alhambra 1057154 1111480; sainte chapelle horaires 974486 1127435; villa cavrois 974881; palazzo braschi 974381; topkapi palace cheap tickets 1100843;
    taormina ancient theater 999917; cathedral barcelona 1089232; musée rodin coupe file 978005; schindlers factory krakow 1093145; oceanopolis brest
    986620; poble espanyol 973586; passetto 1111246; vasari corridor 1111247; thyssen malaga 974681; invalides 1030287; benfica stadium 1100928 1101459;
    sant pau 1107148; doria pamphilj 1132214; granada sacromonte albaicin 1046001; bernabeu 1128464; favignana lunch boat 1122012 1126995; richelieu
    museum paris 1130657; flamenco barcelona 1035745 1111500 1115578 1120732; madrid flamenco show 1017672 1122394; musicals in london 1049090 1126297;
    cooking class florence 1088942 1121558 1122211; berlin museum 1054926 1104454; krakow museums 1082999 1093145; hop on hop off bus lissabon 1114883;
    venice gondola 1035094 1111557; venice airport transfer 1024474 1077843; museum bordeaux 1125222; contemporary art paris 975329; como boat tour
    1026316 1060461; prague jewish quarter tour 1004306 1086526; seville airport transfer 1115840; dinner cruise paris seine 1002162 1111455; cemetery
    malaga 1122163; ufizzi gallery 1111247; newschwanstein castel 1036873 1107188; sagrada famila guided tour 996155 1092122 1106937; collosseum 1068224
    1130507; chateau fontainbleu 977263; monserrat barcelona 996155 1122803; lascau caves 1097240; casa batlo 1128334; giverney monet 980811;
    kuntshistorisches museum vienna 975389; gaztelugache 1039132; selinute temples 1029331; carcasonne 1100119; la pedrera 974842 1107148; mezquita
    1025594 1089764; veiled christ 1104246 1115015; disney castle bavaria 1036873 1107188; valencian sistine chapel 1012175; egadi islands boat trip
    1120694 1122012 1126995; brunello wine tasting 1086263 1094492; theresienstadt 1121277; skeleton church near prague 1115058; zurich chocolate museum
    1029945; cenacolo vinciano 1090447 1108396; abendmahl leonardo mailand 1090447 1108396; mailänder dom dach 1092629 1111408; reggia di caserta 977212
    1089775; cappelle medicee 1094264; casa di giulietta 1099155; tour eiffel 2eme étage 1109636 1111387; eiffelturm 1109636 1111387; tombeau de napoléon
    1030287; markusplatz venedig 1048493; mosquée de cordoue 1025594 1089764; palacio real madrid 1101279 1127550; palazzo reale madrid in italiano
    1101279; terme di diocleziano 1023205; brügge 984013 1093298; karlsbrücke 1033879; maison de rembrandt 1113461 1126875; kutschenmuseum lissabon
    1031614; costiera amalfitana 1127242; cuevas de nerja 1086768; museo del tessuto prato 1031321; plages du débarquement normandie 977020; moschea blu
    istanbul 1100070; geburtshaus van gogh 975541; sherry and horse show 1091176; concentration camp guided tour 1028329 1121277; palio banners siena
    1117842; rosetta stone 1111203; prehistoric megaliths brittany 1010972; champagne grape to glass 1022918; crater walk volcano pompeii 1088872 1110665;
    cathedral with audio guide spain 984014 1089232 1089764 1127899 1129128; glass blowing murano 1111491 1114874; pompeii from sorrento skip the line
    tickets 1086566; ravenna mosaics combo ticket unesco 1033959; juventus museum turin tickets kids 1110019; oceanografic valencia for kids 989326; gaudi
    capricho comillas opening hours 1002924 1014738; nachtwächter leipzig führung preis 1056069;`,
};

/** Returns the queries of a set: words, and behind them the identifiers of products, which have six digits and more. */
function queriesOf(set: string): Query[] {
  return set.split(';').flatMap((each) => {
    const [, text, ids] = /^\s*(.*?)((?: \d{6,})+)$/.exec(each.replace(/\s+/g, ' ')) ?? [];
    return text === undefined || ids === undefined ? [] : [[text, ids.trim().split(' ').map(Number)]];
  });
}

export const strangerQueries: Readonly<Record<keyof typeof sets, readonly Query[]>> = {
  x: queriesOf(sets.x),
  y: queriesOf(sets.y),
  z: queriesOf(sets.z),
};
