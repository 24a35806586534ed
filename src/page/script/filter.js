/* Filters over the keys of rows, in the language of the program's display filters: == != < <= > >= (eq ne lt le gt ge),
   contains, in {a, b}, and or not (&& || !), brackets; a key alone means that it has a value. */

/* No word of strangers finds what every object has. */
const RANKS = { __proto__: null, severity: ['note', 'warning', 'error'], confidence: ['low', 'medium', 'high'] };
const WORDS = { __proto__: null, eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=', and: '&&', or: '||', not: '!' };
const COMPARE = {
  __proto__: null,
  '==': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b, '<=': (a, b) => a <= b,
  '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};
const UNITS = { __proto__: null, ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
/** Brackets within each other, as in the program's filters. */
const DEEPEST = 64;

/** The keys of all rows, each with what it holds: number, boolean, string, or object. */
function keysOf(rows) {
  const keys = new Map();
  const add = (value, path) => {
    if (value === null) return keys.has(path) || keys.set(path, null);
    const one = Array.isArray(value) ? value[0] : value;
    if (!Array.isArray(value) && typeof value === 'object') {
      keys.set(path, 'object');
      for (const [key, inner] of Object.entries(value)) add(inner, `${path}.${key}`);
    } else if (!keys.get(path)) keys.set(path, one === undefined ? null : typeof one);
  };
  for (const row of rows) for (const [key, value] of Object.entries(row)) add(value, key);
  return keys;
}

/** How many letters must be changed to make one name of another. */
function distance(a, b) {
  let row = [...Array(b.length + 1).keys()];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

function unknown(name, keys) {
  const near = [...keys.keys()].map((key) => [distance(name, key), key]).sort((a, b) => a[0] - b[0])[0];
  const meant = [...keys.keys()].find((key) => key.endsWith(`.${name}`));
  const guess = meant ?? (near && near[0] <= Math.max(2, name.length / 3) ? near[1] : null);
  return `There is no field "${name}" here${guess ? `; did you mean ${guess}?` : `. There are ${[...keys.keys()].join(', ')}.`}`;
}

/** A function that says whether a row passes. Throws an error with a sentence where the text is no filter. */
function compile(text, keys) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|&&|\|\||[=!<>]=|[<>!(){},]|[^\s"(){},=!<>&|]+|\S/g) ?? [];
  let at = 0;
  let depth = 0;
  const peek = () => WORDS[tokens[at]] ?? tokens[at];
  const fail = (wanted) => {
    throw new Error(`${tokens[at] === undefined ? 'The filter ends' : `"${tokens[at]}" stands`} where ${wanted} is expected.`);
  };
  const take = (token, wanted) => (peek() === token ? at++ : fail(wanted));

  function either() {
    let left = both();
    while (peek() === '||') {
      at++;
      const [a, b] = [left, both()];
      left = (row) => a(row) || b(row);
    }
    return left;
  }
  function both() {
    let left = one();
    while (peek() === '&&') {
      at++;
      const [a, b] = [left, one()];
      left = (row) => a(row) && b(row);
    }
    return left;
  }
  function one() {
    if (++depth > DEEPEST) throw new Error(`More than ${DEEPEST} brackets stand within each other.`);
    let test;
    if (peek() === '!') {
      at++;
      const inner = one();
      test = (row) => !inner(row);
    } else if (peek() === '(') {
      at++;
      test = either();
      take(')', 'a closing bracket');
    } else test = comparison();
    depth--;
    return test;
  }
  function comparison() {
    const key = tokens[at];
    if (!/^[a-z]/i.test(key ?? '') || WORDS[key]) fail('the name of a field');
    if (!keys.has(key)) throw new Error(unknown(key, keys));
    at++;
    const values = (row) => [valueOf(row, key)].flat().filter((value) => value !== null);
    const operator = peek();
    if (operator === 'in') {
      at++;
      take('{', 'a set in braces');
      const set = [literal(key)];
      while (peek() === ',') at++, set.push(literal(key));
      take('}', 'a closing brace');
      return (row) => values(row).some((value) => set.includes(rank(key, value)));
    }
    if (operator === 'contains') {
      at++;
      if (keys.get(key) !== 'string') throw new Error(`${key} holds no text, so "contains" says nothing of it.`);
      const part = word();
      return (row) => values(row).some((value) => value.includes(part));
    }
    const compare = COMPARE[operator];
    if (!compare) return (row) => values(row).length > 0;
    at++;
    const wanted = literal(key);
    const test = (value) => compare(rank(key, value), wanted);
    return (row) => (operator === '!=' ? values(row).length > 0 && values(row).every(test) : values(row).some(test));
  }
  /** Severities are compared by how bad they are. */
  const rank = (key, value) => (RANKS[key] ? RANKS[key].indexOf(value) : value);
  function word() {
    const token = tokens[at];
    if (token === undefined || /^(?:[=!<>]=|&&|\|\||[<>!(){},&|="])$/.test(token)) fail('a value');
    at++;
    return token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token;
  }
  function literal(key) {
    const text = word();
    if (RANKS[key]) {
      const place = RANKS[key].indexOf(text);
      if (place < 0) throw new Error(`"${text}" is no ${key}: there are ${RANKS[key].join(', ')}.`);
      return place;
    }
    switch (keys.get(key)) {
      case 'number': {
        const [, digits, unit] = text.match(/^(-?\d+(?:\.\d+)?(?:e-?\d+)?)(ns|us|µs|ms|s|m|h)?$/) ?? [];
        if (digits === undefined) throw new Error(`"${text}" is no number, and ${key} holds numbers.`);
        return Number(digits) * (unit ? UNITS[unit] : 1);
      }
      case 'boolean':
        if (!/^(true|false|0|1)$/.test(text)) throw new Error(`"${text}" is neither true nor false, as ${key} is.`);
        return text === 'true' || text === '1';
      case 'object':
        throw new Error(`${key} holds others: ${[...keys.keys()].filter((k) => k.startsWith(`${key}.`)).join(', ')}.`);
      default:
        return text;
    }
  }

  if (tokens.length === 0) return () => true;
  const test = either();
  return at < tokens.length ? fail('"and", "or" or the end') : test;
}
