import { spawn } from "node:child_process"

/** Hands the terminal over to a program, for example an editor, until it ends. Gives its exit code; 127 when there is no such program. */
export function runInteractively(commandLine: string, argument: string): Promise<number> {
  return new Promise((resolve) => {
    // The command line may hold options of its own ("code --wait"), so a shell reads it; the argument is passed beside it.
    const child = spawn("/bin/sh", ["-c", `${commandLine} "$1"`, "sh", argument], { stdio: "inherit" })
    child.once("error", () => {
      resolve(127)
    })
    child.once("close", (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 130))
    })
  })
}
