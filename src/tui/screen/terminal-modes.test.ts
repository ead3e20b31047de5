import { expect, test } from "vitest"

import { identifiedTraits, terminalTraits } from "./terminal-modes.ts"

test.each([
  [{ TERM: "xterm-256color" }, "all", "kitty"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "vscode" }, "except-cursor-row", "kitty"],
  [{ TERM: "xterm-256color", XTERM_VERSION: "XTerm(390)" }, "none", "modify-other-keys"],
  [{ TERM: "tmux-256color", TMUX: "/tmp/tmux-0/default,1,0", XTERM_VERSION: "XTerm(390)" }, "all", "modify-other-keys"],
  [{ TERM: "tmux-256color" }, "all", "modify-other-keys"],
  [{ TERM: "screen.xterm-256color", STY: "1.pts" }, "none", "legacy"],
  [{ TERM: "rxvt-unicode-256color" }, "none", "legacy"],
  [{ TERM: "linux" }, "none", "legacy"],
])("%j wraps %s and reports keys as %s", (variables: Readonly<Record<string, string>>, reflow, keyboard) => {
  expect(terminalTraits((name) => variables[name])).toMatchObject({
    reflow,
    keyboard,
    titles: variables["TERM"] !== "linux",
  })
})

test("without its variables a multiplexer is known by its secondary device attributes; other terminals stay what they were", () => {
  const traitsOf = (term: string) => terminalTraits((name) => (name === "TERM" ? term : undefined))
  const tmux = { reflow: "all", settleMs: 300, reportsSizeLate: true }
  expect(identifiedTraits(traitsOf("screen-256color"), 84)).toMatchObject({ ...tmux, keyboard: "legacy" })
  expect(identifiedTraits(traitsOf("xterm-256color"), 84)).toMatchObject({ ...tmux, keyboard: "kitty" })
  expect(identifiedTraits(traitsOf("xterm-256color"), 83)).toMatchObject({ reflow: "none", settleMs: 60 })
  expect(identifiedTraits(traitsOf("xterm-256color"), 65)).toEqual(traitsOf("xterm-256color"))
  const asked = ["xterm-256color", "screen", "linux", "rxvt", "tmux-256color", "alacritty"].filter(
    (term) => traitsOf(term).mayBeMultiplexer === true,
  )
  expect(asked).toEqual(["xterm-256color", "screen"])
})
