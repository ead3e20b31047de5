/** Irregular verbs and nouns, one per line: the base form, then the forms that a stemmer cannot derive. */
const FORMS = `
bear bore borne
beat beaten
become became
begin began begun
bend bent
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
cling clung
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
lay laid
lead led
lean leant
leap leapt
learn learnt
leave left
lend lent
light lit
lose lost
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spell spelt
spend spent
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weep wept
win won
wind wound
write wrote written
child children
foot feet
goose geese
half halves
knife knives
leaf leaves
life lives
loaf loaves
man men
mouse mice
person people
shelf shelves
thief thieves
tooth teeth
wife wives
wolf wolves
woman women
`

/** Returns a table from each irregular form to its base form. */
export function irregularForms(): ReadonlyMap<string, string> {
  const table = new Map<string, string>()
  for (const line of FORMS.trim().split("\n")) {
    const [base = "", ...forms] = line.split(" ")
    for (const form of forms) table.set(form, base)
  }
  return table
}
