/* Filters over the keys of rows, in the language of the program's display filters: == != < <= > >= (eq ne lt le gt ge),
   contains, in {a, b}, and or not (&& || !), brackets; a key alone means that it has a value. */

/* These objects have no prototype, so that no word in a filter finds an inherited property. */
const RANKS = { __proto__: null, severity: ['note', 'warning', 'error'], confidence: ['low', 'medium', 'high'] };
const WORDS = { __proto__: null, eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=', and: '&&', or: '||', not: '!' };
const COMPARE = {
  __proto__: null,
  '==': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b, '<=': (a, b) => a <= b,
  '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};
const UNITS = { __proto__: null, ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
/** Most nested brackets, as in the program's filters. */
const MAX_DEPTH = 64;

/** The keys of all rows, each with the type of its values: number, boolean, string, or object. */
function keysOf(rows) {
  const keys = new Map();
  const add = (value, path) => {
    if (value === null) return keys.has(path) || keys.set(path, null);
    const element = Array.isArray(value) ? value[0] : value;
    if (!Array.isArray(value) && typeof value === 'object') {
      keys.set(path, 'object');
      for (const [key, inner] of Object.entries(value)) add(inner, `${path}.${key}`);
    } else if (!keys.get(path)) keys.set(path, element === undefined ? null : typeof element);
  };
  for (const row of rows) for (const [key, value] of Object.entries(row)) add(value, key);
  return keys;
}

/** The edit distance of two names. */
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

/** A message about a key that no row has. */
function unknown(name, keys) {
  const nearest = [...keys.keys()].map((key) => [distance(name, key), key]).sort((a, b) => a[0] - b[0])[0];
  const qualified = [...keys.keys()].find((key) => key.endsWith(`.${name}`));
  const guess = qualified ?? (nearest && nearest[0] <= Math.max(2, name.length / 3) ? nearest[1] : null);
  return `There is no field "${name}" here${guess ? `; did you mean ${guess}?` : `. There are ${[...keys.keys()].join(', ')}.`}`;
}

/** Compiles a filter to a function that says whether a row passes. Throws an error with a message if the text is no filter. */
function compile(text, keys) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|&&|\|\||[=!<>]=|[<>!(){},]|[^\s"(){},=!<>&|]+|\S/g) ?? [];
  let at = 0;
  let depth = 0;
  const peek = () => WORDS[tokens[at]] ?? tokens[at];
  const fail = (wanted) => {
    throw new Error(`${tokens[at] === undefined ? 'The filter ends' : `"${tokens[at]}" stands`} where ${wanted} is expected.`);
  };
  const take = (token, wanted) => (peek() === token ? at++ : fail(wanted));

  function parseOr() {
    let left = parseAnd();
    while (peek() === '||') {
      at++;
      const [a, b] = [left, parseAnd()];
      left = (row) => a(row) || b(row);
    }
    return left;
  }
  function parseAnd() {
    let left = parseUnary();
    while (peek() === '&&') {
      at++;
      const [a, b] = [left, parseUnary()];
      left = (row) => a(row) && b(row);
    }
    return left;
  }
  function parseUnary() {
    if (++depth > MAX_DEPTH) throw new Error(`More than ${MAX_DEPTH} brackets stand within each other.`);
    let test;
    if (peek() === '!') {
      at++;
      const inner = parseUnary();
      test = (row) => !inner(row);
    } else if (peek() === '(') {
      at++;
      test = parseOr();
      take(')', 'a closing bracket');
    } else test = parseComparison();
    depth--;
    return test;
  }
  function parseComparison() {
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
  /** Severities and confidences are compared by their rank. */
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
      const index = RANKS[key].indexOf(text);
      if (index < 0) throw new Error(`"${text}" is no ${key}: there are ${RANKS[key].join(', ')}.`);
      return index;
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
  const test = parseOr();
  return at < tokens.length ? fail('"and", "or" or the end') : test;
}
