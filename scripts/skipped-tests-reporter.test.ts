import { expect, test } from "vitest"
import { skippedLine } from "./skipped-tests-reporter.ts"

test.each([
  [{ name: "a > b", note: "zsh is not installed" }, "x.test.ts > a > b: zsh is not installed"],
  [
    { name: "ssh (skipped: sshd is missing (openssh-server)) > b", note: undefined },
    "x.test.ts > ssh > b: sshd is missing (openssh-server)",
  ],
  [{ name: "a", note: undefined }, "x.test.ts > a: no reason is given"],
])("%j", (skipped, line) => {
  expect(skippedLine({ file: "x.test.ts", ...skipped })).toBe(line)
})
