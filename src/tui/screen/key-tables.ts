/** Keys of `CSI n ~`. */
export const TILDE_KEYS: ReadonlyMap<number, string> = new Map([
  [1, "home"],
  [2, "insert"],
  [3, "delete"],
  [4, "end"],
  [5, "pageup"],
  [6, "pagedown"],
  [7, "home"],
  [8, "end"],
  ...functionKeys(1, [11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34]),
])

/** Keys of `CSI … letter` and `SS3 … letter`. */
export const LETTER_KEYS: ReadonlyMap<string, string> = new Map([
  ["A", "up"],
  ["B", "down"],
  ["C", "right"],
  ["D", "left"],
  ["E", "clear"],
  ["F", "end"],
  ["H", "home"],
  ["P", "f1"],
  ["Q", "f2"],
  ["R", "f3"],
  ["S", "f4"],
])

/** The application keypad: `SS3 letter`. */
export const KEYPAD_KEYS: ReadonlyMap<string, string> = new Map([
  ["M", "enter"],
  ["I", "tab"],
  [" ", "space"],
  ["X", "="],
  ["j", "*"],
  ["k", "+"],
  ["l", ","],
  ["m", "-"],
  ["n", "."],
  ["o", "/"],
  ...Array.from({ length: 10 }, (_, digit): [string, string] => [
    String.fromCodePoint("p".charCodeAt(0) + digit),
    String(digit),
  ]),
])

/** Keys of `CSI n u` that are no characters. An empty name is a key without a meaning here, such as Caps Lock. */
export const CODE_KEYS: ReadonlyMap<number, string> = new Map([
  [8, "backspace"],
  [9, "tab"],
  [10, "enter"],
  [13, "enter"],
  [27, "escape"],
  [32, "space"],
  [127, "backspace"],
  ...functionKeys(
    13,
    Array.from({ length: 23 }, (_, offset) => 57_376 + offset),
  ),
  ...Array.from({ length: 10 }, (_, digit): [number, string] => [57_399 + digit, String(digit)]),
  ...[".", "/", "*", "-", "+", "enter", "=", ","].map((key, offset): [number, string] => [57_409 + offset, key]),
  ...["left", "right", "up", "down", "pageup", "pagedown", "home", "end", "insert", "delete", "clear"].map(
    (key, offset): [number, string] => [57_417 + offset, key],
  ),
])

function functionKeys(first: number, codes: readonly number[]): readonly (readonly [number, string])[] {
  return codes.map((code, offset) => [code, `f${first + offset}`] as const)
}
