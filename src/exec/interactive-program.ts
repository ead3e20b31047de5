import { spawn } from "node:child_process"

/** Runs a program, for example an editor, that takes over the terminal. Returns its exit code; 127 when the program does not exist. */
export function runInteractively(commandLine: string, argument: string): Promise<number> {
  return new Promise((resolve) => {
    // The command line may contain options ("code --wait"), so a shell parses it; the argument is passed separately.
    const child = spawn("/bin/sh", ["-c", `${commandLine} "$1"`, "sh", argument], { stdio: "inherit" })
    child.once("error", () => {
      resolve(127)
    })
    child.once("close", (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 130))
    })
  })
}
