// What a single line shows of damage to the text around it: a key that is gone, a document whose
// beginning is gone, a row that stands above its heading.
#pragma once

#include <string_view>

namespace muster::diagnose {

// ": 7", ":....65535", "[ 812.3] : GPU has": what stood before the colon is gone.
bool LostItsKey(std::string_view line);
// "}," or "\"Health\": \"OK\"," where no document is open: its beginning was lost or moved.
bool PieceOfJson(std::string_view line);
// Do two lines stand in one table? Rows above the heading mean that lines changed places.
bool SameShape(std::string_view heading, std::string_view line);

}  // namespace muster::diagnose
