// What the small model reads: a few pages about running machines, written for Muster, and its
// alphabet. A token is one printable ASCII character or a new line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::lab {

inline constexpr int kVocabulary = 96;  // new line, then ' ' to '~'

// Characters outside the alphabet (tabs, bytes of UTF-8) become a blank.
uint8_t TokenOf(char c);
char CharacterOf(uint8_t token);
std::vector<uint8_t> Encode(std::string_view text);
std::string Decode(const std::vector<uint8_t>& tokens);

// The text that is trained on.
std::string_view TrainingText();

}  // namespace muster::lab
