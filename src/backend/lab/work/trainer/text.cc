#include "backend/lab/work/trainer/text.h"

namespace muster::lab {

uint8_t TokenOf(char c) {
  if (c == '\n') return 0;
  if (c >= ' ' && c <= '~') return static_cast<uint8_t>(c - ' ' + 1);
  return 1;
}

char CharacterOf(uint8_t token) {
  return token == 0 ? '\n' : static_cast<char>(' ' + (token - 1) % (kVocabulary - 1));
}

std::vector<uint8_t> Encode(std::string_view text) {
  std::vector<uint8_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(TokenOf(c));
  return tokens;
}

std::string Decode(const std::vector<uint8_t>& tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (const uint8_t token : tokens) text.push_back(CharacterOf(token));
  return text;
}

std::string_view TrainingText() {
  static constexpr std::string_view kText = R"(Of the machine room.
The machine room is a quiet place when all is well. The fans hum, the lamps are green, and nobody runs.
First the power must be signed for, then the cooling, then the weight of the racks upon the floor.
No rack is switched on before a person with a name has said that the floor will hold it.
After the power comes the fabric. Every cable has two ends, and both ends must agree.
A link that is up is not yet a link that is well. Count its errors, wait, and count them again.
If the count has grown, the cable is bad, or the port is bad, or the dust is in the glass.
Clean the glass first. It is cheap to clean the glass.

Of the switches.
A leaf has many hosts and a few spines. A spine has many leaves and no hosts.
One master keeps the map of the fabric. Two masters quarrel, and no master is a silence.
When the map is wrong, the packets go the long way round, and the job that was fast is slow.
Ask the switch what it sees, and ask the host what it sees, and lay the two answers side by side.

Of the nodes.
A node has eight cards, and if it shows seven, then one card is missing and the node is not well.
Do not count the cards once. Count them when the node wakes, and count them when the work begins.
A card that is hot will go slow before it goes dark. A card that is slow holds back all the others.
The memory of a card may forget a row. It can be given another row, but it must sleep first.
A driver that is new and a module that is old will not speak to each other.
Read the log of the kernel. The log is long, but the line that matters is short.

Of the gang.
A gang starts together or it does not start. Seven ranks that wait for the eighth are a waste of seven cards.
Each rank has a number, and the number is its name. Rank zero is not better than the others, but it writes the list.
When one rank is slow, all ranks are slow, for they wait at the barrier for the last.
When one rank dies, the others must be told, for they would wait for ever and burn the power of a town.
To find the slow rank, do not ask who waited. Ask who did not wait.

Of the numbers.
A sum is made in a ring. Each rank gives a part to the next, and takes a part from the one before.
The sum is right when every rank has the same sum, and the sum is the one that paper gives.
A fast sum that is wrong is worth less than a slow sum that is right.
The loss must fall. If the loss does not fall, the job is warm but it does not learn.
If the loss is not a number, stop, and look for the first rank that said so.
The use of the machine is the work that was needed, over the work that could have been done in that time.
Do not count the work twice, and do not take the peak from the wrong page.

Of keeping.
What was learned in a week can be lost in a second, so it is written down.
A page that is half written is not a page. Write it beside the old one, and then change the name.
Each rank writes its own part, and each part has a seal. When all the parts are there, the list is written, and the list is last.
A heap of parts without a list is not a copy. A list with a broken seal is not a copy.
Before the old copy is thrown away, read the new one.
A disk that is full says no. Let it say no early, and let a person hear it.

Of serving.
The one who asks does not see the cards. The one who asks sees the time to the first word, and the time between the words.
Nine quick answers do not make good the tenth, for the tenth also has someone who waits.
An answer that never comes is late. Count it with the late ones.
Send the questions at the time that they would come, and not when the last answer has come back.
If the one who measures is tired, the measure is not true.

Of judging.
What was not seen is not known, and what is not known is not good.
A tool that says nothing has not said that all is well. A page that is cut has not said what stood below the cut.
Say what was seen, and when, and by whom, and keep the words of the tool beside the judgement.
Say not that the cluster is bad. Say which cable, which port, which card, and what to do next.
A gate that opens too easily is a hole in the wall. A gate that never opens is a wall.
If a person opens the gate by hand, write the name of the person and the day on which the gate shuts again.

Of mending.
Change one thing, then look. Change the next thing, then look again.
Take the work off the node before the node is touched, and give the node back when it is well.
Write what will be done before it is done, so that the one who comes after a fall knows where the foot was set.
Never do a thing twice because it is not known whether it was done once. Look first.
Mend one node, and watch it, and then mend the next. Do not mend the whole fleet in one night.
When the way back is not clear, stop, and call someone.

Of the night.
The night shift is long, and the lamps are the same at three as they are at noon.
A good page wakes one person, says what is wrong, and says what to try.
A bad page wakes everyone and says that something is wrong.
The one who is woken reads slowly. Write for the one who is woken.
In the morning the room is quiet again. The fans hum, the lamps are green, and nobody runs.
)";
  return kText;
}

}  // namespace muster::lab
