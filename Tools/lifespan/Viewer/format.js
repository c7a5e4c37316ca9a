// Numbers as every report of lifespan writes them (Units.swift), and searches.
'use strict';

const separated = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function count(value) { return separated.format(value); }

function things(value, one, many) { return `${count(value)} ${value === 1 ? one : many || one + 's'}`; }

/** Exact below 10,000 bytes, else two decimals of a power of 1,024. */
function bytes(value) {
  const sign = value < 0 ? '-' : '';
  const size = Math.abs(value);
  if (size < 10000) return `${sign}${count(size)} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  for (let place = 0; place < units.length; place++) {
    const hundredths = Math.floor(size * 100 / 1024 ** (place + 1) + 0.5);
    if (hundredths < 102400 || place === units.length - 1) return `${sign}${decimal(hundredths, 2)} ${units[place]}`;
  }
  return '';
}

function decimal(scaled, digits) {
  const base = 10 ** digits;
  return `${count(Math.floor(scaled / base))}.${String(scaled % base).padStart(digits, '0')}`;
}

/** Seconds with three decimals. */
function seconds(nanoseconds) {
  const sign = nanoseconds <= -500000 ? '-' : '';
  return `${sign}${decimal(Math.floor((Math.abs(nanoseconds) + 500000) / 1000000), 3)} s`;
}

/** Seconds with six decimals, for single events. */
function moment(nanoseconds) {
  const sign = nanoseconds <= -500 ? '-' : '';
  return `${sign}${decimal(Math.floor((Math.abs(nanoseconds) + 500) / 1000), 6)} s`;
}

function percent(part, whole) { return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '–'; }

/** Whether a text has what is searched for; `*` stands for anything, the case does not matter. */
function searcher(pattern) {
  const pieces = pattern.trim().toLowerCase().split('*').filter((piece) => piece !== '');
  return (text) => {
    const lower = text.toLowerCase();
    let from = 0;
    for (const piece of pieces) {
      const at = lower.indexOf(piece, from);
      if (at < 0) return false;
      from = at + piece.length;
    }
    return true;
  };
}
