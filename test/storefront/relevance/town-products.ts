/*
 * A catalogue written for the tests: places that everybody knows, under titles as a shop would write them, in the order in
 * which they sell. `Title | city | country | tagline`; the line is the id.
 */
const lines = `
Sagrada Familia: Fast Track Ticket | Barcelona | Spain | Gaudí’s unfinished basilica
Colosseum, Roman Forum & Palatine Hill: Priority Entry | Rome | Italy | Walk where gladiators fought
Eiffel Tower: Second Floor & Summit | Paris | France | The view everybody wants
Louvre Museum: Reserved Access Ticket | Paris | France | Meet the Mona Lisa
Vatican Museums & Sistine Chapel: Skip The Line Ticket | Rome | Italy | Michelangelo’s ceiling
Van Gogh Museum: Entry Ticket | Amsterdam | The Netherlands | Sunflowers and self-portraits
Burj Khalifa: At The Top | Dubai | United Arab Emirates | The tallest building there is
Alhambra & Generalife: Guided Tour | Granada | Spain | Palaces of the Nasrids
Tower of London: Entry Ticket + Crown Jewels | London | United Kingdom | Ravens and executions
London Eye: Standard Ticket | London | United Kingdom | A wheel above the Thames
Park Güell: Entry Ticket | Barcelona | Spain | A dragon of mosaic
Casa Batlló: Self-Guided Visit | Barcelona | Spain | A house of bones
Uffizi Gallery: Skip The Line | Florence | Italy | Botticelli and friends
Neuschwanstein Castle: Day Trip from Munich | Schwangau | Germany | The castle of the fairy tales
Schönbrunn Palace: Grand Tour | Vienna | Austria | Where the emperors spent the summer
Amsterdam: Evening Canal Cruise | Amsterdam | The Netherlands | Bridges with lights
Amsterdam: Canal Cruise with Cheese & Wine | Amsterdam | The Netherlands | Float and nibble
Musée d’Orsay: Dedicated Entrance | Paris | France | Impressionists in a station
Palace of Versailles: Full Access | Versailles | France | Mirrors and fountains
Seine River: Dinner Cruise | Paris | France | Supper on the water
Acropolis & Parthenon: Entry Ticket | Athens | Greece | Marble above the city
Hagia Sophia: Skip The Line Ticket | Istanbul | Türkiye | A church, a mosque
Topkapı Palace: Guided Tour | Istanbul | Türkiye | The sultans’ treasury
Prague Castle: Tour with Local Guide | Prague | Czech Republic | The largest castle complex
Wieliczka Salt Mine: Guided Tour from Kraków | Kraków | Poland | Chandeliers of salt
Auschwitz-Birkenau: Guided Tour with Transport | Kraków | Poland | A place to remember
St. Paul’s Cathedral: Fast Track | London | United Kingdom | Whispering gallery
Westminster Abbey: Entry Ticket | London | United Kingdom | A thousand years of kings
Madame Tussauds Amsterdam: Entry Ticket | Amsterdam | The Netherlands | Stand beside stars
Madame Tussauds London: Entry Ticket | London | United Kingdom | Stand beside royals
SEA LIFE London Aquarium: Entry Ticket | London | United Kingdom | Sharks beneath your feet
LEGOLAND® Billund Resort: 1-Day Ticket | Billund | Denmark | Made of bricks
Tivoli Gardens: Entry Ticket | Copenhagen | Denmark | Rides among flowers
Sky Lagoon: Entry with Ritual | Reykjavík | Iceland | Warm water by the ocean
Blue Lagoon: Comfort Admission | Reykjavík | Iceland | Milky and hot
Empire State Building: Observatory | New York | United States | 86th floor
Statue of Liberty & Ellis Island: Ferry | New York | United States | Climb the pedestal
Edge: Observation Deck | New York | United States | A floor of glass in the sky
Big Bus New York: Hop-on Hop-off | New York | United States | All of Manhattan
Big Bus London: Hop-on Hop-off | London | United Kingdom | Open top
City Sightseeing Oslo: Hop-on Hop-off | Oslo | Norway | Fjord views
Munch Museum: Entry Ticket | Oslo | Norway | The Scream, several times
Rijksmuseum: Entry Ticket | Amsterdam | The Netherlands | The Night Watch
A’DAM Lookout: Ticket with Swing | Amsterdam | The Netherlands | Over the edge
Heineken Experience: Ticket | Amsterdam | The Netherlands | A brewery no more
Milan Cathedral: Rooftop by Lift | Milan | Italy | Among the spires
The Last Supper: Guided Visit | Milan | Italy | Leonardo’s wall
Pompeii: Reserved Entry | Pompeii | Italy | A city under ash
Mount Vesuvius: Ticket + Shuttle | Pompeii | Italy | To the crater
Doge’s Palace: Priority Entry | Venice | Italy | Bridge of Sighs
Venice: Gondola Ride on the Grand Canal | Venice | Italy | Sit back
Murano & Burano: Boat Trip | Venice | Italy | Glass and lace
Leaning Tower of Pisa: Timed Entry | Pisa | Italy | It still leans
Accademia Gallery: Michelangelo’s David | Florence | Italy | One statue
Florence: Pasta Cooking Class | Florence | Italy | With a glass of Chianti
Warner Bros. Studio Tour London: The Making of Harry Potter | London | United Kingdom | With transfer
Stonehenge: Half-Day Trip from London | Salisbury | United Kingdom | Stones
Dracula’s Castle: Entry Ticket | Bran | Romania | Bites included
Guinness Storehouse: Self-Guided | Dublin | Ireland | Pour your own
Belém Tower: E-Ticket | Lisbon | Portugal | At the mouth of the Tagus
Oceanário de Lisboa: Entry Ticket | Lisbon | Portugal | Otters
Pena Palace & Park: Entry Ticket | Sintra | Portugal | Yellow and red
Flamenco Show at Tablao Cordobés | Barcelona | Spain | Heels and guitars
Camp Nou Experience: Museum Ticket | Barcelona | Spain | More than a club
Prado Museum: Official Ticket | Madrid | Spain | Velázquez and Goya
Royal Palace of Madrid: Fast Access | Madrid | Spain | 3,418 rooms
Santiago Bernabéu Stadium: Tour | Madrid | Spain | White shirts
Luggage Storage: Barcelona Sants Station | Barcelona | Spain | Leave it there
Barcelona Airport: Bus Transfer | Barcelona | Spain | From both terminals
Luggage Storage: Roma Termini | Rome | Italy | Leave it there
Tokyo Skytree: Advance Ticket | Tokyo | Japan | Above everything
teamLab Planets: Entry Ticket | Tokyo | Japan | Barefoot in light
Universal Studios Japan: 1-Day Pass | Osaka | Japan | Wizards and minions
Gardens by the Bay: Cloud Forest | Singapore | Singapore | Supertrees
Sydney Opera House: Guided Tour | Sydney | Australia | Under the sails
Great Barrier Reef: Cruise from Cairns | Cairns | Australia | Snorkel and lunch
Niagara Falls: Day Trip from Toronto | Niagara Falls | Canada | Get wet
Kunsthistorisches Museum: Entry Ticket | Vienna | Austria | Bruegel’s hunters
Miniatur Wunderland: Ticket | Hamburg | Germany | Trains, very small
Elbphilharmonie: Plaza Tour | Hamburg | Germany | A wave of glass
`.trim().split('\n'); // biome-ignore format: a table

export const townProducts = lines.map((line, index) => {
  const [title = '', city = '', country = '', tagline = ''] = line.split(' | ');
  return { product_id: index + 1, title, city, country, tagline };
});
