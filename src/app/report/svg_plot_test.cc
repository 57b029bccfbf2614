#include "app/report/svg_plot.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/testing/xml.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlotInput Sweep() {
  PlotInput plot;
  plot.title = "busbw";
  plot.x_label = "message size";
  plot.y_label = "GB/s";
  plot.points = {{8, 0.01}, {1 << 20, 40}, {1 << 30, 371}};
  plot.lines = {{"ceiling 400", 400}};
  plot.log_x = true;
  plot.x_bytes = true;
  return plot;
}

TEST(SvgPlot, DrawsEveryPointAndLabelsItsAxes) {
  const std::string svg = SvgPlot(Sweep());
  EXPECT_EQ(testing::XmlProblem(svg), "") << svg;
  for (const char* part :
       {"<svg", "busbw", "message size", "GB/s", "ceiling 400", "<path d=\"M64.0"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_EQ(std::count(svg.begin(), svg.end(), 'L'), 2);
}

TEST(SvgPlot, SameInputIsTheSameText) { EXPECT_EQ(SvgPlot(Sweep()), SvgPlot(Sweep())); }

TEST(SvgPlot, TooLittleToDrawIsNothing) {
  PlotInput plot;
  EXPECT_EQ(SvgPlot(plot), "");
  plot.points = {{1, 1}};
  EXPECT_EQ(SvgPlot(plot), "");
  plot.points = {{1, 1}, {1, 2}};
  EXPECT_EQ(SvgPlot(plot), "");
}

TEST(SvgPlot, CurveOfZerosIsDrawnOnTheAxis) {
  PlotInput plot;
  plot.points = {{1, 0}, {2, 0}};
  EXPECT_THAT(SvgPlot(plot), Not(HasSubstr("nan")));
}

TEST(SvgPlot, WhatIsNoNumberIsLeftOut) {
  PlotInput plot = Sweep();
  plot.log_x = plot.x_bytes = false;
  plot.points = {{1, 4.5},
                 {2, std::numeric_limits<double>::quiet_NaN()},
                 {3, std::numeric_limits<double>::infinity()},
                 {4, 4.0}};
  const std::string svg = SvgPlot(plot);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("<path"));
}

TEST(SvgPlot, LabelsAreEscaped) {
  PlotInput plot = Sweep();
  plot.title = plot.x_label = plot.y_label = "</svg><script>";
  plot.lines = {{"<b>&", 100}};
  const std::string svg = SvgPlot(plot);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_EQ(testing::XmlProblem(svg), "");
}

RC_GTEST_PROP(SvgPlotProperty, AnyNumbersGiveAWellFormedPictureOrNone,
              (std::vector<std::pair<double, double>> points, bool log_x)) {
  std::sort(points.begin(), points.end());
  PlotInput plot;
  plot.points = std::move(points);
  plot.log_x = log_x;
  const std::string svg = SvgPlot(plot);
  RC_ASSERT(svg.size() < 1'000'000u);
  RC_ASSERT(testing::XmlProblem(svg) == "");
  RC_ASSERT(svg.find("nan") == std::string::npos);
}

}  // namespace
}  // namespace muster
