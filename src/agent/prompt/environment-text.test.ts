import { expect, test } from "vitest"

import { environmentText } from "./environment-text.ts"
import type { EnvironmentFacts } from "./environment-text.ts"

const workspace = { os: "Linux", release: "6.1", user: "ann", home: "/home/ann", cwd: "/w" }
const facts: EnvironmentFacts = { workspace, environmentHint: "", profile: "default" }
const local = (host: string): string => `Host: ${host}\nUser home directory: /home/ann\nCurrent working directory: /w`

test.each<[string, Partial<EnvironmentFacts>, string]>([
  ["this machine", {}, local("Linux (6.1)")],
  ["macOS", { workspace: { ...workspace, os: "Darwin" } }, local("macOS (6.1)")],
  [
    "Windows",
    { workspace: { ...workspace, os: "Windows_NT" } },
    `${local("Windows (6.1)")}\nThe user name is ann, not the computer name. The terminal tool runs bash, not PowerShell.`,
  ],
  [
    "WSL",
    { workspace: { ...workspace, release: "5.15-Microsoft-standard" } },
    `${local("Linux under WSL (5.15-Microsoft-standard)")}\nWindows drives are under /mnt: C:\\Users is /mnt/c/Users.`,
  ],
  [
    "a container",
    { workspaceKind: "docker" },
    "File and terminal tools work in a Docker container, not on the machine Hermes runs on.\nThere: Linux (6.1), user ann\n" +
      "User home directory: /home/ann\nCurrent working directory: /w\n" +
      "There are no checkpoints there: commit or copy files before a risky change.",
  ],
  [
    "a workspace that does not respond",
    { workspaceKind: "ssh", workspace: undefined },
    "File and terminal tools work on another machine, over SSH, not on the machine Hermes runs on.\n" +
      "Look around there first, for example with `uname -a; whoami; pwd`.",
  ],
  [
    "another profile, hints and tools",
    { profile: "work", environmentHint: " On a train. ", toolchain: "python3 is missing" },
    `${local("Linux (6.1)")}\npython3 is missing\n` +
      "Active profile: work. Leave the data of other profiles alone unless the user asks for it.\nOn a train.",
  ],
])("%s", (_, changed, expected) => {
  expect(environmentText({ ...facts, ...changed })).toBe(expected)
})
