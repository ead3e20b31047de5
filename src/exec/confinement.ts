/** Exceptions from the sandbox for one command. Without a sandbox they have no effect. */
export interface Confinement {
  /** The command may write nothing and has no network. */
  readonly readOnly?: true
  /** Protected files that this command may write, unless git starts programs of the project with it. */
  readonly open?: readonly string[]
  /** Protected files, and directories with everything in them, that the user opened for this command. */
  readonly granted?: readonly string[]
  /** Git updates the working tree: the command may write tracked instructions for agents. */
  readonly opensInstructions?: true
}
