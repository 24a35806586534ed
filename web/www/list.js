'use strict';

// An element with attributes and what is in it: elements, or text, which is never markup.
function el(name, attributes, ...children) {
  const element = document.createElement(name);
  Object.entries(attributes ?? {}).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

const $ = (id) => document.getElementById(id);

// A list of rows with equal height, of which only the visible ones are in the page. One row is chosen, with the mouse or the arrow keys.
class List {
  // `row` fills the element of an item. `chosen` is called with a chosen item, with whether Enter or the mouse was used, and with its
  // index. `folded` is called with an item and whether it is to be folded, where items are those of a tree: with a `level`, and where
  // they have lower ones, `open`.
  constructor(box, { row, chosen, hovered, folded }) {
    Object.assign(this, { box, row, chosen, hovered, folded, items: [], at: -1 });
    this.inner = el('div', { class: 'inner', role: 'presentation' });
    box.append(this.inner);
    box.addEventListener('scroll', () => this.draw());
    box.addEventListener('keydown', (event) => this.key(event));
    box.addEventListener('click', (event) => this.indexOf(event, (index) => this.choose(index, true)));
    box.addEventListener('mousemove', (event) => this.indexOf(event, (index) => this.hovered?.(this.items.at(index))));
    box.addEventListener('mouseleave', () => this.hovered?.(null));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  indexOf(event, then) {
    const row = event.target.closest('[data-index]');
    if (row) then(Number(row.dataset.index));
  }

  // Shows other items, none of them chosen: an array, or anything else with `length` and `at`, which may return undefined for what it has
  // yet to get.
  show(items) {
    this.items = items;
    this.at = -1;
    this.box.scrollTop = 0;
    this.draw();
  }

  height() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue('--row'));
  }

  // Draws the visible rows. Also called after items have been added to the same list.
  draw() {
    const height = this.height();
    const visible = this.box.clientHeight;
    this.inner.style.height = `${this.items.length * height}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - 5);
    const last = Math.min(this.items.length, Math.ceil((this.box.scrollTop + visible) / height) + 5);
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const item = this.items.at(index);
      const place = this.folded ? { 'role': 'treeitem', 'aria-level': item.level + 1 } : { 'role': 'option' };
      const row = el('div', {
        'class': 'row', 'id': `${this.box.id}-${index}`, 'data-index': index, 'aria-selected': index === this.at,
        'aria-posinset': index + 1, 'aria-setsize': this.items.length, ...place,
      });
      if (this.folded && item.open !== undefined) row.setAttribute('aria-expanded', String(item.open));
      row.style.top = `${index * height}px`;
      if (item) this.row(row, item);
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
    if (this.at >= first && this.at < last) this.box.setAttribute('aria-activedescendant', `${this.box.id}-${this.at}`);
    else this.box.removeAttribute('aria-activedescendant');
  }

  // Chooses an item and scrolls to it. `activated` says that it was chosen with Enter or the mouse.
  choose(index, activated) {
    if (index < 0 || index >= this.items.length) return;
    this.at = index;
    const [height, visible] = [this.height(), this.box.clientHeight];
    if (index * height < this.box.scrollTop) this.box.scrollTop = index * height;
    if ((index + 1) * height > this.box.scrollTop + visible) this.box.scrollTop = (index + 1) * height - visible;
    this.draw();
    this.chosen(this.items.at(index), activated, index);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const fold = { ArrowLeft: true, ArrowRight: false }[event.key];
    if (this.folded && fold !== undefined && this.at >= 0) {
      event.preventDefault();
      this.folded(this.items.at(this.at), fold);
      return;
    }
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height()) - 1);
    const last = this.items.length - 1;
    const to = {
      ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: last,
      Enter: this.at,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(Math.min(last, Math.max(0, to)), event.key === 'Enter');
  }
}
