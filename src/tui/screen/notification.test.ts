import xterm from "@xterm/headless"
import { expect, test } from "vitest"

import { virtualScreen } from "../../../test/fixtures/tui/virtual-screen.ts"
import type { Config } from "../../config/load-config.ts"
import { settingOf } from "../../config/settings.ts"
import {
  copySequence,
  type NotificationOptions,
  notificationOptions,
  notificationSequence,
  titleSequence,
} from "./notification.ts"

const notification = { title: "Hermes", text: "4;done: a\u{7}b\u{1B}]0;x\u{7}\nc; d" }

test.each<readonly [NotificationOptions, string]>([
  [{ channel: "off", inTmux: true }, ""],
  [{ channel: "bell", inTmux: true }, "\u{7}"],
  [{ channel: "osc9", inTmux: false }, "\u{1B}]9;Hermes:  4,done: ab c, d\u{1B}\\"],
  [{ channel: "osc777", inTmux: false }, "\u{1B}]777;notify;Hermes; 4,done: ab c, d\u{1B}\\"],
  [{ channel: "osc9", inTmux: true }, "\u{1B}Ptmux;\u{1B}\u{1B}]9;Hermes:  4,done: ab c, d\u{1B}\u{1B}\\\u{1B}\\\u{7}"],
])("%j", (options, expected) => {
  expect(notificationSequence(notification, options)).toBe(expected)
})

test.each([
  ["auto", { TERM: "xterm-kitty" }, { channel: "osc9", inTmux: false }],
  ["auto", { TERM: "tmux-256color", TMUX: "x", LC_TERMINAL: "iTerm2" }, { channel: "osc9", inTmux: true }],
  ["auto", { TERM: "foot" }, { channel: "osc777", inTmux: false }],
  ["auto", { TERM: "xterm-256color" }, { channel: "bell", inTmux: false }],
  ["off", { TERM: "xterm-kitty" }, { channel: "off", inTmux: false }],
])("the setting %s with %j", (setting, variables: Readonly<Record<string, string>>, expected) => {
  const get: Config["get"] = (key) => settingOf(key).read(setting) ?? settingOf(key).default
  expect(notificationOptions({ get }, (name) => variables[name])).toEqual(expected)
})

test("text is copied as base64, and too much of it is not", () => {
  expect(copySequence("日本\u{1B}", { inTmux: false })).toBe("\u{1B}]52;c;5pel5pysGw==\u{1B}\\")
  expect(copySequence("a", { inTmux: true })).toBe(
    "\u{1B}]52;c;YQ==\u{1B}\\\u{1B}Ptmux;\u{1B}\u{1B}]52;c;YQ==\u{1B}\u{1B}\\\u{1B}\\",
  )
  expect(copySequence("x".repeat(80_000), { inTmux: false })).toBeUndefined()
})

test("a title cannot leave its sequence", async () => {
  const terminal = new xterm.Terminal({ allowProposedApi: true })
  const titles: string[] = []
  terminal.onTitleChange((title) => titles.push(title))
  await new Promise<void>((resolve) => terminal.write(titleSequence("a\u{9C}b\u{1B}\\c\u{7}d\n\u{1B}[31me"), resolve))
  expect([titles, terminal.buffer.active.getLine(0)?.translateToString(true)]).toEqual([["abcd e"], ""])
})

test("the title of before is restored whenever the terminal is given away", async () => {
  using view = virtualScreen({ live: () => ({ rows: ["x"] }) })
  view.screen.setTitle("one")
  view.screen.setTitle("one")
  view.screen.setTitle("two")
  const title = (): string =>
    view.written
      .join("")
      .split("\u{1B}")
      .filter((part) => /^(?:\]0;|\[2[23];0t)/.test(part))
      .join(" ")
  expect(title()).toBe("[22;0t ]0;one ]0;two")
  await view.screen.release(async () => {
    expect(title()).toBe("[22;0t ]0;one ]0;two [23;0t")
    view.screen.setTitle("three")
    await view.settle()
  })
  expect(title()).toBe("[22;0t ]0;one ]0;two [23;0t [22;0t ]0;three")
  view.screen.close()
  expect(title()).toBe("[22;0t ]0;one ]0;two [23;0t [22;0t ]0;three [23;0t")
})
