'use strict';
/* Formats text and numbers, and creates elements. Text goes into the page as text, never as HTML. */

/** Characters that change the direction of text, that nobody sees, or that control something: those of `escape.rs`. */
const HOSTILE = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u{2028}\u{2029}\u{2800}\u{fff9}-\u{fffb}\u{13430}-\u{1343f}]/gu;
/** What CI systems look for anywhere in a line: `##[`, `##vso[`, `##teamcity[`. */
const MARK = /(##[\w.-]*)\[/g;
/** Text that begins like a command of GitHub's runners, and an IPv6 address, which is no command. */
const COMMAND = /^\p{White_Space}*::/u;
const ADDRESS = /^\p{White_Space}*[0-9a-fA-F:.\/]*$/u;
const NAMED = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function shown(text) {
  const escape = (c) => {
    const code = c.codePointAt(0);
    return NAMED[c] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`);
  };
  const out = String(text).replaceAll('\\', '\\\\').replace(HOSTILE, escape).replace(MARK, '$1\\x5b');
  return COMMAND.test(text) && !ADDRESS.test(text) ? out.replace(':', '\\x3a') : out;
}

/** Seconds for people: `3.576 ms`. */
function duration(seconds) {
  const nanos = Math.round(Math.abs(seconds) * 1e9);
  const [step, decimals, unit] = nanos < 1e6 ? [100, 1, 'µs'] : nanos < 1e9 ? [1e3, 3, 'ms'] : [1e6, 3, 's'];
  const steps = Math.floor((nanos + step / 2) / step);
  return `${seconds < 0 ? '-' : ''}${(steps / 10 ** decimals).toFixed(decimals)} ${unit}`;
}

/** Seconds in short, for axes: `50 ms`. */
function short(seconds) {
  const [size, unit] = seconds < 1e-3 ? [1e6, 'µs'] : seconds < 1 ? [1e3, 'ms'] : [1, 's'];
  return `${Number((seconds * size).toPrecision(3))} ${unit}`;
}

/** `2026-11-20 10:32:02.380` */
const time = (stamp) => `${stamp.slice(0, 10)} ${stamp.slice(11, 23)}`;
const counted = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

/** The value of a key, which may lead into an object: `finding_counts.error`. */
const valueOf = (row, key) => key.split('.').reduce((value, part) => value?.[part] ?? null, row);

/** An element with attributes; children are elements, or text. */
function el(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for an SVG element. */
function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
