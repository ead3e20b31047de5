import { expect, test } from "vitest"

import { looksDestructive } from "./destructive-command.ts"

test.each([
  "rm -rf x",
  "a && mv b c",
  "a||rmdir b",
  "a;dd if=x",
  "echo `shred f`",
  "sed -i s/a/b/ f",
  "git checkout .",
  "git checkout main",
  "git reset --hard",
  "git clean -fd",
  "echo x > f",
  "ls > out",
  "grep rm file",
  "npm install x",
  "cmd 2>&1",
  "cat a 2>&1",
  "cmd 2>/dev/null",
])("%s looks destructive", (command) => {
  expect(looksDestructive(command)).toBe(true)
})

test.each(["", "ls", "ls >> out", "echo x >> f", "git status", "sed s/a/b/ f", "cat a | sort", "alarm x", "git log"])(
  "%j does not",
  (command) => {
    expect(looksDestructive(command)).toBe(false)
  },
)
