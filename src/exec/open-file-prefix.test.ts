import { expect, test } from "vitest"

import { openFilePrefix, splitOpenFile } from "./open-file-prefix.ts"

test("the prefix and the file are found again, and any other command line stays as it is", () => {
  const line = [...openFilePrefix("/a file"), "/usr/bin/bwrap", "--seccomp", "9"]
  expect(splitOpenFile(line)).toEqual({ openFile: "/a file", commandLine: ["/usr/bin/bwrap", "--seccomp", "9"] })
  const other = ["/bin/sh", "-c", "exec true"]
  expect(splitOpenFile(other)).toEqual({ openFile: undefined, commandLine: other })
})
