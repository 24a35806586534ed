'use strict';

// The line for a filter: it says what is wrong where while one types, and completes names.
class FilterLine {
  // `check` asks the engine about a text and a cursor in it. `apply` is called with a filter that is right.
  constructor({ check, apply }) {
    Object.assign(this, { check, apply, wrong: null, names: [], rest: '', at: -1, asked: 0 });
    this.input = $('filter');
    this.input.addEventListener('input', () => this.typed());
    this.input.addEventListener('scroll', () => this.follow());
    this.input.addEventListener('keydown', (event) => this.key(event));
    this.input.addEventListener('blur', () => this.offer([]));
    $('names').addEventListener('mousedown', (event) => {
      event.preventDefault();
      if (event.target.dataset.name) this.take(event.target.dataset.name);
    });
    $('filter-line').addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    $('all').addEventListener('click', () => {
      this.put('');
    });
  }

  // Shows a filter that is applied.
  set(text) {
    this.input.value = text;
    this.say(null);
    this.offer([]);
  }

  // Applies a filter that is right.
  put(text) {
    this.set(text);
    this.apply(text);
  }

  async typed() {
    this.asked += 1;
    const [mine, text] = [this.asked, this.input.value];
    const known = await this.check(text, this.input.selectionStart);
    // More has been typed meanwhile, or another capture opened.
    if (mine !== this.asked || !known) return;
    this.rest = known.rest;
    this.say(known.wrong);
    this.offer(document.activeElement === this.input ? known.names : []);
  }

  // Says what is wrong, and underlines it: a copy of the text lies behind the line.
  say(wrong) {
    this.wrong = wrong;
    const text = this.input.value;
    const [start, end] = wrong ? [wrong.start, wrong.end] : [0, 0];
    // At the end of the text, a blank is underlined.
    const part = text.slice(start, end) || ' ';
    $('copy').replaceChildren(...(wrong ? [text.slice(0, start), el('span', { class: 'wrong' }, part), text.slice(end)] : []));
    this.follow();
    this.input.setAttribute('aria-invalid', String(wrong !== null));
    $('wrong').textContent = wrong?.what ?? '';
    $('wrong').hidden = wrong === null;
  }

  follow() {
    $('copy').scrollLeft = this.input.scrollLeft;
  }

  // Offers names for the word before the cursor.
  offer(names) {
    Object.assign(this, { names, at: -1 });
    $('names').hidden = names.length === 0;
    this.input.setAttribute('aria-expanded', String(names.length > 0));
    this.draw();
  }

  draw() {
    const option = (name, index) => el('li', { 'role': 'option', 'id': `name-${index}`, 'data-name': name, 'aria-selected': index === this.at }, name);
    $('names').replaceChildren(...this.names.map(option));
    if (this.at >= 0) this.input.setAttribute('aria-activedescendant', `name-${this.at}`);
    else this.input.removeAttribute('aria-activedescendant');
  }

  key(event) {
    const offered = this.names.length;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape' && offered > 0) {
      this.offer([]);
    } else if (step && offered > 0) {
      this.at = (this.at + step + offered) % offered;
      this.draw();
    } else if (event.key === 'Enter' && this.at >= 0) {
      this.take(this.names[this.at]);
    } else if (event.key === 'Tab' && !event.shiftKey && offered > 0 && (this.at >= 0 || this.rest !== '')) {
      // Without anything to complete, Tab goes on.
      if (this.at >= 0) this.take(this.names[this.at]);
      else this.insert(0, this.rest);
    } else {
      return;
    }
    event.preventDefault();
  }

  // Replaces the word before the cursor.
  take(name) {
    const before = this.input.value.slice(0, this.input.selectionStart);
    this.insert(before.match(/[\p{L}\p{N}._]*$/u)[0].length, name);
  }

  // Replaces so many characters before the cursor.
  insert(length, text) {
    const at = this.input.selectionStart;
    this.input.setRangeText(text, at - length, at, 'end');
    this.typed();
  }

  async submit() {
    const text = this.input.value.trim();
    const known = await this.check(text, text.length);
    if (!known) return;
    this.asked += 1;
    this.offer([]);
    if (known.wrong) {
      this.input.value = text;
      this.say(known.wrong);
    } else {
      this.put(text);
    }
  }
}
